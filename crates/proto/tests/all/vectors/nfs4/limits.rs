//! Lengths over the limits, which are refused before memory is taken for them.

use super::*;

#[test]
fn handle_of_128_bytes_is_the_longest() {
    let bytes = leaked([vec![0, 0, 0, 128], vec![7; 128]].concat());
    both_ways("nfs_fh4", bytes, FileHandle::new(&[7; 128]).unwrap());
    too_long::<FileHandle>(&["00000081"], 128);
    assert_eq!(FileHandle::new(&[7; 129]), None);
}

#[test]
fn opaques_and_names() {
    too_long::<StateOwner<'_>>(&[CLIENT, "00000401"], MAX_OPAQUE_BYTES);
    too_long::<SetclientidArgs<'_>>(&[VERIFIER, "00000401"], MAX_OPAQUE_BYTES);
    too_long::<ExchangeIdArgs<'_>>(&[VERIFIER, "00000401"], MAX_OPAQUE_BYTES);
    too_long::<ServerOwner<'_>>(&["0000000000000000 00000401"], MAX_OPAQUE_BYTES);
    too_long::<ImplId<'_>>(&["00000401"], MAX_OPAQUE_BYTES);
    too_long::<SetSsvArgs<'_>>(&["00000401"], MAX_OPAQUE_BYTES);
    too_long::<Principal<'_>>(&["00000401"], MAX_OPAQUE_BYTES);
    too_long::<Component<'_>>(&["00001001"], MAX_NAME_BYTES);
    too_long::<CreateType<'_>>(&["00000005 00200001"], proto::MAX_ARGUMENT_BYTES);
    too_long::<ReadlinkOk<'_>>(&["00002001"], MAX_LINK_BYTES);
    too_long::<MimeType<'_>>(&["00000101"], MAX_MIME_TYPE_BYTES);
    too_long::<Oid<'_>>(&["00000101"], MAX_OID_BYTES);
    too_long::<NetAddr<'_>>(&["00000081"], MAX_NETID_BYTES);
    too_long::<NetAddr<'_>>(&["00000000 00000101"], MAX_NETADDR_BYTES);
    too_long::<NetLoc<'_>>(&["00000001 00000401"], MAX_URL_BYTES);
    too_long::<NetLoc<'_>>(&["00000002 00000401"], MAX_URL_BYTES);
    too_long::<GssCallbackHandles<'_>>(&["00000001 00000401"], MAX_GSS_HANDLE_BYTES);
    too_long::<AuthSysParms<'_>>(&["00000000 00000100"], AuthSysParms::MAX_MACHINE_NAME_BYTES);
    too_long::<AuthSysParms<'_>>(&["00000000 00000000 00000000 00000000 00000011"], AuthSysParms::MAX_GIDS);
}

#[test]
fn data() {
    too_long::<WriteArgs<'_>>(&[STATEID, "0000000000000000 00000000 00200001"], proto::MAX_ARGUMENT_BYTES);
    too_long::<ReadOk<'_>>(&[YES, "00100001"], MAX_DATA_BYTES);
    too_long::<ReadPlusSegment<'_>>(&["00000000 0000000000000000 00100001"], MAX_DATA_BYTES);
    too_long::<Fattr<'_>>(&["00000000 00020001"], MAX_ATTRIBUTES_BYTES);
    too_long::<GetxattrOk<'_>>(&["00010001"], MAX_XATTR_BYTES);
    too_long::<SetxattrArgs<'_>>(&["00000000", NAME, "00200001"], proto::MAX_ARGUMENT_BYTES);
}

#[test]
fn arrays() {
    too_long::<CompoundArgs<'_>>(&["00000401"], MAX_TAG_BYTES);
    too_long::<CompoundHead<'_>>(&["00000401"], MAX_TAG_BYTES);
    too_long::<CompoundArgs<'_>>(&["00000000 00000000 00000201"], MAX_COMPOUND_OPS);
    too_long::<CompoundReply<'_>>(&["00000000 00000000 00000201"], MAX_COMPOUND_OPS);
    too_long::<CbCompoundArgs<'_>>(&["00000000 00000000 00000000 00000201"], MAX_COMPOUND_OPS);
    too_long::<CbCompoundReply<'_>>(&["00000000 00000000 00000201"], MAX_COMPOUND_OPS);
    too_long::<Bitmap>(&["00000041"], MAX_BITMAP_WORDS);
    too_long::<Acl<'_>>(&["00000401"], MAX_ACES);
    too_long::<LayoutTypes>(&["00000011"], MAX_LAYOUT_TYPES);
    too_long::<Pathname<'_>>(&["00000101"], MAX_PATH_COMPONENTS);
    too_long::<FsLocations<'_>>(&["00000000 00000041"], MAX_LOCATIONS);
    too_long::<FsLocation<'_>>(&["00000041"], MAX_LOCATIONS);
    too_long::<SecinfoOk<'_>>(&["00000021"], MAX_FLAVORS);
    too_long::<BackchannelCtlArgs<'_>>(&["40000000 00000011"], MAX_CALLBACK_SECS);
    too_long::<SsvParms<'_>>(&["00000000 00000000 00000021"], MAX_ALGORITHMS);
    too_long::<TestStateidArgs>(&["00001001"], MAX_STATEIDS);
    too_long::<ReadPlusOk<'_>>(&[YES, "00001001"], MAX_READ_PLUS_SEGMENTS);
    too_long::<CopyNotifyOk<'_>>(&[TIME, STATEID, "00000011"], MAX_COPY_SERVERS);
    too_long::<ListxattrsOk<'_>>(&["0000000000000000 00002001"], MAX_XATTR_NAMES);
    too_long::<ReferringCalls>(&[SESSION, "00000041"], MAX_REFERRING_CALLS);
}

#[test]
fn directory_without_end_is_refused_at_the_limit() {
    let entry = wire(&[YES, "0000000000000001 00000000", NO_FATTR]);
    let mut bytes = wire(&[VERIFIER]);
    bytes.extend(entry.repeat(MAX_DIR_ENTRIES));
    bytes.extend(wire(&[YES]));
    crate::vectors::vector::too_long::<ReaddirOk<'_>>("READDIR", &bytes, MAX_DIR_ENTRIES);
}

#[test]
fn operations_and_results_stay_small_in_memory() {
    assert!(size_of::<ArgOp<'_>>() <= 256, "{}", size_of::<ArgOp<'_>>());
    assert!(size_of::<ResOp<'_>>() <= 256, "{}", size_of::<ResOp<'_>>());
    assert!(size_of::<CallbackArgOp<'_>>() <= 256, "{}", size_of::<CallbackArgOp<'_>>());
}
