/*
 * The I/O trace that MLPerf Storage's KV-cache benchmark writes: CSV with the
 * columns Timestamp (seconds), Operation, Object_Size_Bytes, Tier, Key and
 * Phase, in any order and no others.
 *
 * Rows of phase Evict say where that benchmark put its objects; our pager
 * places its own, so they are left out. All other reads up to the next write
 * are one set, and the write is what that frame leaves behind. A set names a
 * block once: reading a key again begins another frame, so that no read is lost.
 */
#include "harness/trace/import.h"

#include <string.h>

#include "harness/files/csv_line.h"
#include "harness/units.h"

#define OUT_OF_ORDER_NS 1000000000ull /* its threads log side by side; more is another clock */
#define VALUE_SHOWN	60
#define NUMBER_ROOM	48

enum column { TIMESTAMP, OPERATION, OBJECT_BYTES, TIER, KEY, PHASE, COLUMNS };

static const char *const column_names[COLUMNS] = {
    "Timestamp", "Operation", "Object_Size_Bytes", "Tier", "Key", "Phase",
};

struct rows {
	struct wp_import *import;
	struct wp_csv_line csv;
	uint32_t field_of[COLUMNS]; /* which field of a line holds it */
	uint32_t field_count;
	uint64_t first_ns;     /* timestamp of the first row */
	uint64_t latest_ns;    /* largest timestamp so far, since the first */
	uint64_t set_begin_ns; /* of the first read in import->set */
	uint32_t set_mark;     /* entries of the set carry it */
};

static bool field_is(const struct wp_csv_field *field, const char *text)
{
	return field->size == strlen(text) && !memcmp(field->text, text, field->size);
}

static int refuse(struct rows *rows, const struct wp_csv_field *field, const char *why)
{
	int shown = field->size < VALUE_SHOWN ? (int)field->size : VALUE_SHOWN;

	return wp_import_fail(rows->import, field->column, "\"%.*s\" %s", shown, field->text, why);
}

static int split(struct rows *rows, const char *text, size_t size)
{
	int column;
	const char *fault = wp_csv_split(&rows->csv, text, size, &column);

	return fault ? wp_import_fail(rows->import, column, "%s", fault) : 0;
}

static int read_header(struct rows *rows, const char *text, size_t size)
{
	bool seen[COLUMNS] = {false};

	if (split(rows, text, size) < 0)
		return -1;
	rows->field_count = rows->csv.count;
	for (uint32_t i = 0; i < rows->csv.count; i++) {
		uint32_t column = 0;

		while (column < COLUMNS && !field_is(&rows->csv.fields[i], column_names[column]))
			column++;
		if (column == COLUMNS)
			return refuse(
			    rows, &rows->csv.fields[i],
			    "is not a column of an MLPerf Storage KV-cache trace "
			    "(Timestamp, Operation, Object_Size_Bytes, Tier, Key, Phase)");
		if (seen[column])
			return refuse(rows, &rows->csv.fields[i], "is a column twice");
		seen[column] = true;
		rows->field_of[column] = i;
	}
	for (uint32_t column = 0; column < COLUMNS; column++)
		if (!seen[column])
			return wp_import_fail(rows->import, 0, "there is no column \"%s\"",
					      column_names[column]);
	return 0;
}

static const struct wp_csv_field *field(const struct rows *rows, enum column column)
{
	return &rows->csv.fields[rows->field_of[column]];
}

/* A number's text, with an end that the parsers need. */
static int copy_number(struct rows *rows, enum column column, char text[NUMBER_ROOM])
{
	const struct wp_csv_field *number = field(rows, column);

	if (number->size >= NUMBER_ROOM || memchr(number->text, '\0', number->size))
		return refuse(rows, number, "is not a number");
	memcpy(text, number->text, number->size);
	text[number->size] = '\0';
	return 0;
}

/* Moves latest_ns on. Rows a little out of order count as simultaneous. */
static int read_time(struct rows *rows)
{
	struct wp_import *import = rows->import;
	struct wp_error why;
	uint64_t stamp_ns, latest_ns = rows->first_ns + rows->latest_ns;
	char text[NUMBER_ROOM];

	if (copy_number(rows, TIMESTAMP, text) < 0)
		return -1;
	if (wp_units_parse_seconds("Timestamp", text, &stamp_ns, &why) < 0)
		return wp_import_fail(import, field(rows, TIMESTAMP)->column, "%s", why.text);
	if (import->figures->lines == 0)
		latest_ns = rows->first_ns = stamp_ns;
	if (stamp_ns < latest_ns && latest_ns - stamp_ns > OUT_OF_ORDER_NS)
		return refuse(rows, field(rows, TIMESTAMP),
			      "is more than a second earlier than rows before it");
	if (stamp_ns > latest_ns)
		rows->latest_ns = stamp_ns - rows->first_ns;
	import->figures->duration_ns = rows->latest_ns;
	return 0;
}

static int read_bytes(struct rows *rows, uint64_t *bytes)
{
	struct wp_error why;
	char text[NUMBER_ROOM];

	if (copy_number(rows, OBJECT_BYTES, text) < 0)
		return -1;
	if (wp_units_parse_count("Object_Size_Bytes", text, 1, INT64_MAX, bytes, &why) < 0)
		return wp_import_fail(rows->import, field(rows, OBJECT_BYTES)->column, "%s",
				      why.text);
	return 0;
}

static bool known(const struct wp_csv_field *field, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (field_is(field, words[i]))
			return true;
	return false;
}

static int check_words(struct rows *rows)
{
	static const char *const operations[] = {"Read", "Write"};
	static const char *const tiers[] = {"Tier-0", "Tier-1", "Tier-2"};
	static const char *const phases[] = {"Prefill", "Decode", "Both", "Evict"};

	if (!known(field(rows, OPERATION), operations, 2))
		return refuse(rows, field(rows, OPERATION), "is none of Read Write");
	if (!known(field(rows, TIER), tiers, 3))
		return refuse(rows, field(rows, TIER), "is none of Tier-0 Tier-1 Tier-2");
	if (!known(field(rows, PHASE), phases, 4))
		return refuse(rows, field(rows, PHASE), "is none of Prefill Decode Both Evict");
	if (field(rows, KEY)->size == 0)
		return refuse(rows, field(rows, KEY), "is no key: reads need one to find writes");
	return 0;
}

/* What was read so far is one set; `made` blocks follow. */
static int end_set(struct rows *rows, uint64_t made, uint32_t *first)
{
	struct wp_import *import = rows->import;
	uint64_t begin_ns = import->set.count ? rows->set_begin_ns : rows->latest_ns;

	rows->set_mark++;
	return wp_import_access(import, begin_ns, made, first);
}

static int take_read(struct rows *rows, uint64_t bytes)
{
	struct wp_import *import = rows->import;
	struct wp_named_blocks *object =
	    wp_block_names_find(&import->names, field(rows, KEY)->text, field(rows, KEY)->size);
	uint32_t unused;
	int result = 0;

	if (!object)
		return refuse(rows, field(rows, KEY), "is read before it was written");
	if (object->object_bytes != bytes)
		return wp_import_fail(import, field(rows, OBJECT_BYTES)->column,
				      "%llu bytes are read of an object of %llu",
				      (unsigned long long)bytes,
				      (unsigned long long)object->object_bytes);
	if (object->mark == rows->set_mark)
		result = end_set(rows, 0, &unused);
	if (result != 0)
		return result;
	if (import->set.count == 0)
		rows->set_begin_ns = rows->latest_ns;
	object->mark = rows->set_mark;
	import->figures->reads++;
	import->figures->read_bytes += bytes;
	return wp_import_retrieve(import, object->first, object->count);
}

static int take_write(struct rows *rows, uint64_t bytes)
{
	struct wp_import *import = rows->import;
	struct wp_import_figures *figures = import->figures;
	uint64_t block_bytes = import->settings->block_bytes;
	uint64_t blocks = block_bytes ? (bytes - 1) / block_bytes + 1 : 1;
	struct wp_named_blocks *object =
	    wp_block_names_take(&import->names, field(rows, KEY)->text, field(rows, KEY)->size);
	uint32_t first;
	int result;

	if (!object)
		return wp_import_fail(import, 0, "out of memory");
	result = end_set(rows, blocks, &first);
	if (result < 0)
		return -1;
	/* A key that is written again names new blocks from here on. */
	*object = (struct wp_named_blocks){
	    .first = first, .count = (uint32_t)blocks, .object_bytes = bytes};
	figures->writes++;
	if (figures->writes == 1 || bytes < figures->object_bytes_min)
		figures->object_bytes_min = bytes;
	if (bytes > figures->object_bytes_max)
		figures->object_bytes_max = bytes;
	return result;
}

static int take_row(struct rows *rows, const char *text, size_t size)
{
	struct wp_import *import = rows->import;
	uint64_t bytes;

	if (size == 0)
		return wp_import_fail(import, 0, "empty line");
	if (split(rows, text, size) < 0)
		return -1;
	if (rows->csv.count > rows->field_count)
		return wp_import_fail(import, rows->csv.fields[rows->field_count].column,
				      "more fields than the header's %u", rows->field_count);
	if (rows->csv.count < rows->field_count)
		return wp_import_fail(import, (int)size + 1, "%u fields; the header has %u",
				      rows->csv.count, rows->field_count);
	if (read_time(rows) < 0 || read_bytes(rows, &bytes) < 0 || check_words(rows) < 0)
		return -1;
	import->figures->lines++;
	if (field_is(field(rows, PHASE), "Evict")) {
		import->figures->moves++;
		return 0;
	}
	return field_is(field(rows, OPERATION), "Read") ? take_read(rows, bytes)
							: take_write(rows, bytes);
}

int wp_import_mlperf_kv(struct wp_import *import)
{
	struct rows rows = {.import = import, .set_mark = 1};
	uint32_t unused;
	const char *text;
	size_t size;
	int result;

	while ((result = wp_input_lines_next(&import->lines, &text, &size, import->error)) > 0) {
		result = import->lines.line == 1 ? read_header(&rows, text, size)
						 : take_row(&rows, text, size);
		if (result != 0)
			break;
	}
	if (result == 0 && import->set.count)
		result = end_set(&rows, 0, &unused);
	wp_csv_done(&rows.csv);
	return result < 0 ? -1 : 0;
}
