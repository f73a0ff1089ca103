#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    properties::nfs4_arguments(input);
});
