/*
 * Reads as lines of a fio iolog. Changes no request and no time but its own:
 * lines go to a large buffer, so that hardly ever one costs a system call.
 */
#include "harness/trace/iolog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/files/output.h"
#include "pager/limits.h"
#include "pager/store_files.h"

#define BUFFER_BYTES (1024u * 1024u)
#define NS_PER_US    1000u

struct wp_iolog {
	struct wp_output output;
	struct wp_store_header layout;
	bool started;
	uint64_t start_ns;
	uint64_t latest_us;
	char *buffer;
};

struct iolog_port {
	struct wp_port port;
	struct wp_port *next;
	struct wp_clock *clock;
	struct wp_iolog *iolog;
};

static void print_action(struct wp_iolog *iolog, uint32_t segment, const char *action)
{
	char name[WP_STORE_NAME_BYTES];

	wp_store_segment_name(segment, name);
	fprintf(iolog->output.stream, "%" PRIu64 " %s %s\n", iolog->latest_us, name, action);
}

int wp_iolog_open(struct wp_iolog **iolog, const char *path, uint64_t block_bytes,
		  uint32_t block_count, struct wp_error *error)
{
	const struct wp_store_identity identity = {.block_bytes = block_bytes};
	struct wp_iolog *opened = calloc(1, sizeof(*opened));

	if (opened)
		opened->buffer = malloc(BUFFER_BYTES);
	if (!opened || !opened->buffer) {
		free(opened);
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "--iolog: out of memory");
	}
	wp_store_header_init(&opened->layout, &identity, 0, block_count, WP_STORE_SEGMENT_BYTES);
	/* The result may go to another place only, by whatever name. */
	if (wp_output_check(path, error) < 0 || wp_output_open(&opened->output, path, error) < 0) {
		wp_iolog_close(opened);
		return -1;
	}
	setvbuf(opened->output.stream, opened->buffer, _IOFBF, BUFFER_BYTES);
	fputs("fio version 3 iolog\n", opened->output.stream);
	for (uint32_t i = 0; i < wp_store_segment_count(&opened->layout); i++) {
		print_action(opened, i, "add");
		print_action(opened, i, "open");
	}
	*iolog = opened;
	return 0;
}

static void note_read(struct wp_iolog *iolog, const struct wp_request *request, uint64_t now_ns)
{
	const struct wp_store_header *layout = &iolog->layout;
	uint32_t segment = request->block / layout->segment_records;
	uint64_t record = request->block % layout->segment_records;
	uint64_t begin = (uint64_t)request->chunk_first * WP_CHUNK_BYTES;
	uint64_t bytes = (uint64_t)request->chunk_count * WP_CHUNK_BYTES;
	char name[WP_STORE_NAME_BYTES];

	if (!iolog->started)
		return;
	/* The last chunk of a block is cut off where its record ends. */
	if (bytes > layout->record_bytes - begin)
		bytes = layout->record_bytes - begin;
	iolog->latest_us = (now_ns - iolog->start_ns) / NS_PER_US;
	wp_store_segment_name(segment, name);
	fprintf(iolog->output.stream, "%" PRIu64 " %s read %" PRIu64 " %" PRIu64 "\n",
		iolog->latest_us, name, record * layout->record_bytes + begin, bytes);
}

static int iolog_submit(struct wp_port *port, struct wp_request *request)
{
	struct iolog_port *iolog = (struct iolog_port *)port;
	uint64_t now_ns = wp_clock_now_ns(iolog->clock);
	int result = wp_port_submit(iolog->next, request);

	if (result == 0 && request->op == WP_OP_READ)
		note_read(iolog->iolog, request, now_ns);
	return result;
}

static void iolog_poll(struct wp_port *port)
{
	wp_port_poll(((struct iolog_port *)port)->next);
}

static uint64_t iolog_next_ns(const struct wp_port *port)
{
	return wp_port_next_ns(((const struct iolog_port *)port)->next);
}

static int iolog_fd(const struct wp_port *port)
{
	return wp_port_fd(((const struct iolog_port *)port)->next);
}

static void iolog_close(struct wp_port *port)
{
	wp_port_close(((struct iolog_port *)port)->next);
	free(port);
}

static const struct wp_port_ops iolog_ops = {
    .name = "iolog",
    .submit = iolog_submit,
    .poll = iolog_poll,
    .next_ns = iolog_next_ns,
    .fd = iolog_fd,
    .close = iolog_close,
};

int wp_iolog_watch(struct wp_iolog *iolog, struct wp_port **port, struct wp_clock *clock)
{
	struct iolog_port *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->port.ops = &iolog_ops;
	watch->next = *port;
	watch->clock = clock;
	watch->iolog = iolog;
	*port = &watch->port;
	return 0;
}

void wp_iolog_start(struct wp_iolog *iolog, uint64_t start_ns)
{
	if (!iolog)
		return;
	iolog->started = true;
	iolog->start_ns = start_ns;
}

int wp_iolog_commit(struct wp_iolog *iolog, struct wp_error *error)
{
	for (uint32_t i = 0; i < wp_store_segment_count(&iolog->layout); i++)
		print_action(iolog, i, "close");
	return wp_output_commit(&iolog->output, error);
}

void wp_iolog_close(struct wp_iolog *iolog)
{
	if (!iolog)
		return;
	wp_output_abandon(&iolog->output);
	free(iolog->buffer);
	free(iolog);
}
