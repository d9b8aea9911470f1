/*
 * The verdict page: text for people at a terminal, JSON for programs, HTML to
 * keep. The three say the same; figures are qualify.c's.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/files/output.h"
#include "harness/qualify/qualify.h"
#include "harness/tool.h"
#include "harness/units.h"

#define CELL 160

static const char *const verdicts[] = {
    [WP_QUALIFY_HOLDS] = "holds",
    [WP_QUALIFY_MEDIAN] = "holds at the median only",
    [WP_QUALIFY_FAILS] = "does not hold",
};

const char *wp_qualify_verdict_text(enum wp_qualify_verdict verdict)
{
	return verdicts[verdict];
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

double wp_qualify_headroom(const struct wp_qualify *qualify, const struct wp_threshold *threshold)
{
	if (threshold->state == WP_THRESHOLD_ABOVE || !threshold->zero_bytes_per_s)
		return 0;
	return (double)qualify->read_bytes_per_s / (double)threshold->zero_bytes_per_s;
}

static char *headroom_text(char text[CELL], const struct wp_qualify *qualify,
			   const struct wp_threshold *threshold)
{
	char rate[WP_UNITS_TEXT];

	if (wp_qualify_headroom(qualify, threshold) <= 0)
		snprintf(text, CELL, "none");
	else
		snprintf(text, CELL, "%.1f x (down to %s)", wp_qualify_headroom(qualify, threshold),
			 wp_units_rate(rate, threshold->zero_bytes_per_s));
	return text;
}

/* One table of two columns, drawn as text or as HTML. */
struct page {
	FILE *stream;
	bool html;
};

static void put_text(const struct page *page, const char *text)
{
	for (const char *at = text; *at; at++) {
		if (page->html && *at == '<')
			fputs("&lt;", page->stream);
		else if (page->html && *at == '&')
			fputs("&amp;", page->stream);
		else
			fputc((unsigned char)*at < 0x20 ? ' ' : *at, page->stream);
	}
}

static void row(const struct page *page, const char *what, const char *value)
{
	fputs(page->html ? "<tr><th scope=\"row\">" : "  ", page->stream);
	put_text(page, what);
	if (page->html)
		fputs("</th><td>", page->stream);
	else
		fprintf(page->stream, "%*s", (int)(strlen(what) < 26 ? 26 - strlen(what) : 1), "");
	put_text(page, value);
	fputs(page->html ? "</td></tr>\n" : "\n", page->stream);
}

static void begin_table(const struct page *page, const char *title)
{
	fputs(page->html ? "<h2>" : "\n", page->stream);
	put_text(page, title);
	fputs(page->html ? "</h2>\n<table>\n" : "\n", page->stream);
}

static void end_table(const struct page *page)
{
	if (page->html)
		fputs("</table>\n", page->stream);
}

static void put_drive(const struct page *page, const struct wp_qualify *qualify)
{
	const struct wp_fio_figures *jobs = qualify->calibration.jobs;
	const struct wp_plan_codec *codec = qualify->plan.codec;
	char text[CELL], rate[WP_UNITS_TEXT];
	uint64_t rated = qualify->plan.rated_bytes_written;

	begin_table(page, "The drive, by fio");
	snprintf(text, sizeof(text), "%s, %s", wp_units_rate(rate, qualify->read_bytes_per_s),
		 qualify->steady ? "steady" : "not steady to the end");
	row(page, "reads", text);
	row(page, "writes", wp_units_rate(text, jobs[WP_CALIBRATE_WRITE].write.bytes_per_s));
	snprintf(text, sizeof(text), "%.0f us, p99 %.0f us",
		 (double)jobs[WP_CALIBRATE_LATENCY].read.completion.p50 / 1e3,
		 (double)jobs[WP_CALIBRATE_LATENCY].read.completion.p99 / 1e3);
	row(page, "a 4 KiB read takes", text);
	if (qualify->celsius_before == INT32_MIN || qualify->celsius_after == INT32_MIN)
		snprintf(text, sizeof(text), "not shown by this system");
	else
		snprintf(text, sizeof(text), "%" PRId32 " before, %" PRId32 " after",
			 qualify->celsius_before, qualify->celsius_after);
	row(page, "temperature (Celsius)", text);
	snprintf(text, sizeof(text), "%.0f GB an hour of generation",
		 (double)codec->written_bytes_per_hour / 1e9);
	row(page, "a session writes", text);
	if (rated)
		snprintf(text, sizeof(text), "%.0f hours of generation",
			 (double)rated / (double)codec->written_bytes_per_hour);
	else
		snprintf(text, sizeof(text),
			 "not known; --rated-writes takes it from the data sheet");
	row(page, "rated endurance lasts", text);
	end_table(page);
}

static void put_run(const struct page *page, const struct wp_qualify *qualify,
		    const struct wp_qualify_run *run)
{
	char text[CELL];

	snprintf(text, sizeof(text), "%s: %s", run->name, verdicts[run->verdict]);
	begin_table(page, text);
	snprintf(text, sizeof(text), "p50 %.1f, p99 %.1f, longest %.1f ms at full scale",
		 ms(run->stall_ns.p50), ms(run->stall_ns.p99), ms(run->stall_ns.max));
	row(page, "stalls measured", text);
	if (!run->valid)
		row(page, "not valid", run->note);
	if (run->has_thresholds) {
		row(page, "headroom, median",
		    headroom_text(text, qualify, &run->thresholds[WP_THRESHOLD_P50]));
		row(page, "headroom, p99",
		    headroom_text(text, qualify, &run->thresholds[WP_THRESHOLD_P99]));
		row(page, "headroom, longest",
		    headroom_text(text, qualify, &run->thresholds[WP_THRESHOLD_MAX]));
	} else {
		snprintf(text, sizeof(text), "%" PRIu32, run->blocks_nvme);
		row(page, "blocks read back", text);
		snprintf(text, sizeof(text), "%.2f %% of the time",
			 run->wall_ns ? 100 * (double)run->write_stall_ns / (double)run->wall_ns
				      : 0);
		row(page, "waited for writes", text);
	}
	end_table(page);
}

static void put_page(const struct page *page, const struct wp_qualify *qualify)
{
	char text[CELL], rate[WP_UNITS_TEXT];

	fputs(page->html ? "<h1>" : "", page->stream);
	snprintf(text, sizeof(text), "This drive %s for %s", verdicts[qualify->verdict],
		 qualify->model.name);
	put_text(page, text);
	fputs(page->html ? "</h1>\n<p>" : "\n", page->stream);
	snprintf(text, sizeof(text), "needed: %s read, %s written; tolerance %.0f ms",
		 wp_units_rate(rate, qualify->plan.codec->read_bytes_per_s),
		 wp_units_rate((char[WP_UNITS_TEXT]){0}, qualify->plan.codec->write_bytes_per_s),
		 ms(qualify->tolerance_ns));
	put_text(page, text);
	fputs(page->html ? "</p>\n" : "\n", page->stream);
	put_drive(page, qualify);
	for (uint32_t i = 0; i < qualify->run_count; i++)
		put_run(page, qualify, &qualify->runs[i]);
}

void wp_qualify_print(const struct wp_qualify *qualify, FILE *stream)
{
	put_page(&(struct page){.stream = stream}, qualify);
}

static void write_html(const struct wp_qualify *qualify, FILE *stream)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>worldpager: verdict on a drive</title>\n<style>\n"
	      ":root { color-scheme: light dark }\n"
	      "body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 1rem auto; "
	      "padding: 0 1rem }\n"
	      "table { border-collapse: collapse; width: 100% }\n"
	      "th, td { text-align: left; padding: .3rem .6rem .3rem 0; "
	      "border-bottom: 1px solid; vertical-align: top }\n"
	      "th { font-weight: normal; width: 14rem }\n</style>\n</head>\n<body>\n<main>\n",
	      stream);
	put_page(&(struct page){.stream = stream, .html = true}, qualify);
	fprintf(stream, "</main>\n<footer><p>worldpager %s (%s)</p></footer>\n</body>\n</html>\n",
		wp_tool_version(), wp_tool_commit());
}

static void write_text(const struct wp_qualify *qualify, FILE *stream)
{
	wp_qualify_print(qualify, stream);
}

static int write_file(const struct wp_qualify *qualify, const char *folder, const char *name,
		      void (*write)(const struct wp_qualify *qualify, FILE *stream),
		      struct wp_error *error)
{
	struct wp_output output = {0};
	char path[WP_PATH_MAX];
	int result;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
	if (wp_output_open(&output, path, error) != 0)
		return -1;
	write(qualify, output.stream);
	result = wp_output_commit(&output, error);
	wp_output_abandon(&output);
	return result;
}

int wp_qualify_write(const struct wp_qualify *qualify, const struct wp_qualify_config *config,
		     struct wp_error *error)
{
	if (write_file(qualify, config->out, "verdict.txt", write_text, error) != 0 ||
	    write_file(qualify, config->out, "verdict.html", write_html, error) != 0)
		return -1;
	return wp_qualify_write_json(qualify, config, error);
}
