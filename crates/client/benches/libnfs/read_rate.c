/* Reads or writes blocks of one file at random over NFSv3 with many calls in flight, through libnfs's raw interface, and prints
 * what examples/read_rate.rs prints, so that the two can be compared (`rate.toml` beside this file).
 *
 *     cc -O2 -o read_rate read_rate.c -lnfs
 *     ./read_rate HOST PORT EXPORT FILE [DEPTH] [BLOCK] [MILLISECONDS] [read|write]
 *
 * NFS and MOUNT are expected on one port. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

struct reader {
	uint64_t place;
};

static struct rpc_context *rpc;
static char handle[64];
static unsigned handle_bytes;
static uint64_t file_bytes, block_bytes = 4096, blocks, done;
static double end_s;
static int waiting, in_flight, is_writing;
static char *block_of_data;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, rpc_get_error(rpc));
	exit(1);
}

static double now_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Serves the connection until nothing of `count` is left. */
static void serve(const int *count)
{
	while (*count > 0) {
		struct pollfd poll_fd = { .fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc) };
		if (poll(&poll_fd, 1, 5000) <= 0)
			fail("no reply within 5 s");
		if (rpc_service(rpc, poll_fd.revents) < 0)
			fail("connection");
	}
}

static void connected(struct rpc_context *context, int status, void *data, void *unused)
{
	(void)context; (void)data; (void)unused;
	if (status != RPC_STATUS_SUCCESS)
		fail("connect");
	waiting = 0;
}

static void mounted(struct rpc_context *context, int status, void *data, void *unused)
{
	mountres3 *res = data;
	(void)context; (void)unused;
	if (status != RPC_STATUS_SUCCESS || res->fhs_status != MNT3_OK)
		fail("MNT");
	handle_bytes = res->mountres3_u.mountinfo.fhandle.fhandle3_len;
	memcpy(handle, res->mountres3_u.mountinfo.fhandle.fhandle3_val, handle_bytes);
	waiting = 0;
}

static void found(struct rpc_context *context, int status, void *data, void *unused)
{
	LOOKUP3res *res = data;
	(void)context; (void)unused;
	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK)
		fail("LOOKUP");
	handle_bytes = res->LOOKUP3res_u.resok.object.data.data_len;
	memcpy(handle, res->LOOKUP3res_u.resok.object.data.data_val, handle_bytes);
	file_bytes = res->LOOKUP3res_u.resok.obj_attributes.post_op_attr_u.attributes.size;
	waiting = 0;
}

static void ask(struct reader *reader);

static void go_on(struct reader *reader)
{
	in_flight--;
	done++;
	if (now_s(CLOCK_MONOTONIC) < end_s)
		ask(reader);
}

static void came(struct rpc_context *context, int status, void *data, void *private)
{
	READ3res *res = data;
	(void)context;
	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK || res->READ3res_u.resok.count != block_bytes)
		fail("READ");
	go_on(private);
}

static void written(struct rpc_context *context, int status, void *data, void *private)
{
	WRITE3res *res = data;
	(void)context;
	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK || res->WRITE3res_u.resok.count != block_bytes)
		fail("WRITE");
	go_on(private);
}

static void ask_to_read(struct reader *reader, uint64_t offset)
{
	READ3args args = { .offset = offset, .count = block_bytes };
	args.file.data.data_len = handle_bytes;
	args.file.data.data_val = handle;
	if (rpc_nfs3_read_async(rpc, came, &args, reader) != 0)
		fail("READ");
}

static void ask_to_write(struct reader *reader, uint64_t offset)
{
	WRITE3args args = { .offset = offset, .count = block_bytes, .stable = UNSTABLE };
	args.file.data.data_len = handle_bytes;
	args.file.data.data_val = handle;
	args.data.data_len = block_bytes;
	args.data.data_val = block_of_data;
	if (rpc_nfs3_write_async(rpc, written, &args, reader) != 0)
		fail("WRITE");
}

static void ask(struct reader *reader)
{
	uint64_t offset;
	reader->place = reader->place * 6364136223846793005ULL + 1442695040888963407ULL;
	offset = (reader->place >> 33) % blocks * block_bytes;
	in_flight++;
	if (is_writing)
		ask_to_write(reader, offset);
	else
		ask_to_read(reader, offset);
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 5 ? atoi(argv[5]) : 64;
	double seconds = argc > 7 ? atof(argv[7]) / 1e3 : 3;
	if (argc < 5) {
		fprintf(stderr, "usage: %s HOST PORT EXPORT FILE [DEPTH] [BLOCK] [MILLISECONDS] [read|write]\n", argv[0]);
		return 2;
	}
	if (argc > 6)
		block_bytes = strtoull(argv[6], NULL, 10);
	is_writing = argc > 8 && strcmp(argv[8], "write") == 0;
	block_of_data = calloc(1, block_bytes);
	rpc = rpc_init_context();
	if (rpc == NULL || (waiting = 1, rpc_connect_async(rpc, argv[1], atoi(argv[2]), connected, NULL)) != 0)
		fail("connect");
	serve(&waiting);
	waiting = 1;
	if (rpc_mount3_mnt_async(rpc, mounted, argv[3], NULL) != 0)
		fail("MNT");
	serve(&waiting);
	LOOKUP3args lookup = { .what = { .name = argv[4] } };
	lookup.what.dir.data.data_len = handle_bytes;
	lookup.what.dir.data.data_val = handle;
	waiting = 1;
	if (rpc_nfs3_lookup_async(rpc, found, &lookup, NULL) != 0)
		fail("LOOKUP");
	serve(&waiting);
	blocks = file_bytes / block_bytes;
	if (blocks == 0)
		fail("the file is shorter than a block");

	struct reader *readers = calloc(depth, sizeof *readers);
	double start_s = now_s(CLOCK_MONOTONIC), cpu_start_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
	end_s = start_s + seconds;
	for (unsigned i = 0; i < depth; i++) {
		readers[i].place = i + 1;
		ask(&readers[i]);
	}
	serve(&in_flight);
	double elapsed_s = now_s(CLOCK_MONOTONIC) - start_s;
	double cpu_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_s;
	printf("ops/s=%.0f cpu_us/op=%.3f\n", done / elapsed_s, cpu_s * 1e6 / done);
	return 0;
}
