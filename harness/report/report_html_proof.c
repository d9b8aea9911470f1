/* Limits and their proof, machines, settings and notes, as the documents tell them. */
#include <inttypes.h>
#include <string.h>

#include "harness/files/markup.h"
#include "harness/plot/gnuplot.h"
#include "harness/report/report_html_parts.h"
#include "harness/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *text_or_dash(const json_t *value)
{
	return json_is_string(value) ? json_string_value(value) : "-";
}

/* In GB/s, to the byte or, where it was measured, to four digits. */
static void put_rate(FILE *stream, const json_t *object, const char *key, bool measured)
{
	const json_t *value = wp_report_member(object, key);
	char text[WP_UNITS_TEXT];

	if (measured && json_is_number(value) && json_number_value(value) >= 0) {
		wp_html_number(stream, wp_units_fixed(text, json_number_value(value) / 1e9, 4));
		return;
	}
	wp_html_number(stream, json_is_integer(value) && json_integer_value(value) >= 0
				   ? wp_units_rate_in_gb(text, (uint64_t)json_integer_value(value))
				   : "-");
}

static void put_count(FILE *stream, const json_t *object, const char *key)
{
	const json_t *value = wp_report_member(object, key);
	char text[WP_UNITS_TEXT];

	wp_html_number(stream, json_is_integer(value) && json_integer_value(value) >= 0
				   ? wp_units_count(text, (uint64_t)json_integer_value(value))
				   : "-");
}

static void put_share(FILE *stream, const json_t *object, const char *key)
{
	const json_t *value = wp_report_member(object, key);
	char text[WP_UNITS_TEXT] = "-";

	if (json_is_number(value) && json_number_value(value) >= 0 &&
	    json_number_value(value) < 1e6)
		wp_units_fixed(text, json_number_value(value) * 100, 1);
	wp_html_number(stream, text);
}

static void write_limit(const struct wp_report_document *document, FILE *stream)
{
	static const char *const rates[] = {"asked_bytes_per_s", "read_back_bytes_per_s",
					    "probe_bytes_per_s", "unthrottled_bytes_per_s",
					    "achieved_bytes_per_s"};
	const json_t *throttle = document->throttle;
	bool valid = json_is_true(wp_report_member(throttle, "valid"));

	wp_html_row_begin(stream, text_or_dash(document->trace));
	wp_html_cell(stream, text_or_dash(document->arm));
	wp_html_cell(stream, text_or_dash(document->world));
	wp_html_cell(stream, wp_report_member_text(throttle, "method"));
	for (size_t i = 0; i < COUNT(rates); i++)
		put_rate(stream, throttle, rates[i], i >= 2);
	put_count(stream, throttle, "device_bytes");
	put_count(stream, throttle, "expected_bytes");
	put_share(stream, throttle, "credit_share");
	fprintf(stream, "<td class=\"%s\">%s</td>", valid ? "yes" : "no", valid ? "yes" : "no");
	wp_html_cell(stream, wp_report_member_text(throttle, "reason"));
	fputs("</tr>\n", stream);
}

void wp_report_html_limits(const struct wp_report_documents *documents, FILE *stream)
{
	static const char *const headings[] = {
	    "Trace",	   "Arm",	 "World",	"Method",   "Asked",
	    "Read back",   "Probe",	 "Unthrottled", "Achieved", "Device bytes",
	    "Store bytes", "Credit (%)", "Valid",	"Reason"};

	fputs(
	    "<section aria-labelledby=\"limits\">\n<h2 id=\"limits\">Limits and their proof</h2>\n"
	    "<p>Read back is what the kernel says it was given, probe what a read before the "
	    "run reached under the limit, achieved the bytes of the run over the time with a "
	    "read outstanding. Device bytes are the device's own count, store bytes what the "
	    "store read. A dash is what such a run does not have: a simulated one has no "
	    "drive.</p>\n",
	    stream);
	wp_html_table_begin(stream, "Limits of every replay; rates in GB/s", headings,
			    COUNT(headings));
	for (uint32_t i = 0; i < documents->count; i++)
		write_limit(&documents->documents[i], stream);
	wp_html_table_end(stream);
	fputs("</section>\n", stream);
}

/* A value of whatever type as a cell. */
static void put_value(FILE *stream, const json_t *value)
{
	char text[WP_UNITS_TEXT];

	if (json_is_string(value))
		wp_html_cell(stream, json_string_value(value));
	else if (json_is_integer(value) && json_integer_value(value) >= 0)
		wp_html_cell(stream, wp_units_count(text, (uint64_t)json_integer_value(value)));
	else
		wp_html_cell(stream, json_is_true(value)    ? "yes"
				     : json_is_false(value) ? "no"
							    : "-");
}

static void write_facts(const json_t *facts, FILE *stream)
{
	static const char *const headings[] = {"Fact", "Value"};
	const char *key;
	json_t *value;
	char caption[128];

	snprintf(caption, sizeof(caption), "Machine %.64s",
		 wp_report_member_text(facts, "fingerprint"));
	wp_html_table_begin(stream, caption, headings, COUNT(headings));
	json_object_foreach((json_t *)facts, key, value)
	{
		char name[64];

		if (json_is_null(value))
			continue;
		snprintf(name, sizeof(name), "%s", key);
		for (char *at = name; *at; at++)
			*at = *at == '_' ? ' ' : *at;
		wp_html_row_begin(stream, name);
		put_value(stream, value);
		fputs("</tr>\n", stream);
	}
	wp_html_table_end(stream);
}

/* Whether an earlier document says the same of its machine or, else, its settings. */
static bool is_repeated(const struct wp_report_documents *documents, uint32_t index, bool facts)
{
	const struct wp_report_document *document = &documents->documents[index];

	for (uint32_t i = 0; i < index; i++) {
		const struct wp_report_document *earlier = &documents->documents[i];

		if (facts ? json_equal(earlier->facts, document->facts)
			  : json_equal(earlier->setup, document->setup))
			return true;
	}
	return false;
}

static void write_setups(const struct wp_report_documents *documents, FILE *stream)
{
	static const char *const keys[] = {"world",	"model", "codec",	 "k",
					   "residency", "scale", "frames_asked", "warmup_frames",
					   "machine",	"drive", "filesystem",	 "trace_origin",
					   "version"};
	static const char *const headings[] = {
	    "World",	       "Model",		"Codec",       "k",
	    "Residency",       "Scale",		"Frames",      "Warm-up",
	    "Machine profile", "Drive profile", "File system", "Traces",
	    "Program"};

	wp_html_table_begin(stream, "Settings of the replays, each once", headings,
			    COUNT(headings));
	for (uint32_t i = 0; i < documents->count; i++) {
		const json_t *setup = documents->documents[i].setup;

		if (is_repeated(documents, i, false))
			continue;
		wp_html_row_begin(stream, wp_report_member_text(setup, keys[0]));
		for (size_t key = 1; key < COUNT(keys); key++)
			put_value(stream, wp_report_member(setup, keys[key]));
		fputs("</tr>\n", stream);
	}
	wp_html_table_end(stream);
}

void wp_report_html_machine(const struct wp_report_documents *documents, FILE *stream)
{
	bool any = false;

	fputs("<section aria-labelledby=\"machine\">\n<h2 id=\"machine\">Machine</h2>\n", stream);
	for (uint32_t i = 0; i < documents->count; i++) {
		const json_t *facts = documents->documents[i].facts;

		if (!json_is_object(facts) || is_repeated(documents, i, true))
			continue;
		any = true;
		write_facts(facts, stream);
	}
	if (!any)
		fputs("<p>All replays are simulated; no figure depends on a machine.</p>\n",
		      stream);
	write_setups(documents, stream);
	fputs("</section>\n", stream);
}

static bool has_note(const struct wp_report_document *document, const json_t *note)
{
	const json_t *other;
	size_t i;

	json_array_foreach(document->notes, i, other)
	{
		if (json_equal(other, note))
			return true;
	}
	return false;
}

/* A note that no document before had, and how many have it. */
static void write_note(const struct wp_report_documents *documents, uint32_t index,
		       const json_t *note, FILE *stream)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < documents->count; i++) {
		if (!has_note(&documents->documents[i], note))
			continue;
		if (i < index)
			return;
		count++;
	}
	fputs("<li>", stream);
	wp_markup_text(stream, text_or_dash(note));
	fprintf(stream, " (%" PRIu32 " of %" PRIu32 " replays)</li>\n", count, documents->count);
}

static bool write_failures(const struct wp_collection *collection, FILE *stream)
{
	bool any = false;

	for (uint32_t i = 0; i < collection->count; i++) {
		const struct wp_cell *cell = &collection->cells[i];
		char text[WP_UNITS_TEXT];

		if (cell->stall.n)
			continue;
		any = true;
		fputs("<li>", stream);
		wp_markup_text(stream, cell->trace);
		fputs(", ", stream);
		wp_markup_text(stream, cell->arm);
		fprintf(stream, ", %s GB/s, ", wp_units_rate_in_gb(text, cell->bytes_per_s));
		wp_markup_text(stream, cell->world);
		fputs(" counts nowhere: ", stream);
		wp_markup_text(stream, cell->why);
		fputs("</li>\n", stream);
	}
	return any;
}

void wp_report_html_notes(const struct wp_report_documents *documents,
			  const struct wp_collection *collection, FILE *stream)
{
	bool any;

	fputs("<section aria-labelledby=\"notes\">\n<h2 id=\"notes\">Notes and failures</h2>\n"
	      "<ul>\n<li>k = 2 blocks a frame and 4.25 bits an element are inferred, not stated by "
	      "the paper.</li>\n",
	      stream);
	any = write_failures(collection, stream);
	for (uint32_t i = 0; i < documents->count; i++) {
		const json_t *note;
		size_t at;

		json_array_foreach(documents->documents[i].notes, at, note)
		{
			any = true;
			write_note(documents, i, note, stream);
		}
	}
	if (!any)
		fputs("<li>No replay left a note, and all of them count.</li>\n", stream);
	fputs("</ul>\n</section>\n", stream);
}
