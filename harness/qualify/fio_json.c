/* Reading fio's JSON. Starts no fio; what it could not mean is refused, never guessed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/qualify/fio.h"

#define VERSION_MIN  3 /* before it, latencies were in microseconds */
#define ATTEMPTS_MAX 64
#define KIB	     1024u

static int bad(struct wp_error *error, const char *text)
{
	return wp_error_set(error, WP_EXIT_CONTENT, "fio's output: %s", text);
}

/* The last whole object with "jobs" that starts a line: whatever is printed around it. */
static json_t *find_document(const char *text, size_t size)
{
	json_t *found = NULL;
	unsigned attempts = 0;

	for (size_t at = 0; at < size && attempts < ATTEMPTS_MAX; at++) {
		json_error_t ignored;
		json_t *document;

		if (text[at] != '{' || (at && text[at - 1] != '\n'))
			continue;
		attempts++;
		document = json_loadb(text + at, size - at, JSON_DISABLE_EOF_CHECK, &ignored);
		if (!json_is_array(json_object_get(document, "jobs"))) {
			json_decref(document);
			continue;
		}
		json_decref(found);
		found = document;
		at += (size_t)ignored.position - 1;
	}
	return found;
}

/* How much a line tells: nothing, something before the JSON, fio's own word, that of an error. */
static int weight_of(const char *line, int length, bool before)
{
	bool of_fio = length > 4 && strncmp(line, "fio:", 4) == 0;

	if (of_fio)
		return memmem(line, (size_t)length, "error", 5) ? 3 : 2;
	return before && length && *line != '{' ? 1 : 0;
}

bool wp_fio_reason(char reason[WP_FIO_REASON], const char *text, size_t size)
{
	const char *end = text + size;
	bool before = true;
	int heaviest = 0;

	reason[0] = '\0';
	for (const char *line = text; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t span = (size_t)((next ? next : end) - line);
		int length = span < WP_FIO_REASON ? (int)span : WP_FIO_REASON - 1;
		int weight;

		before = before && *line != '{';
		weight = weight_of(line, length, before);
		if (weight > heaviest) {
			heaviest = weight;
			snprintf(reason, WP_FIO_REASON, "%.*s", length, line);
		}
		line += span + 1;
	}
	return heaviest == 3;
}

/* What fio says when it says no JSON. */
static int no_document(const char *text, size_t size, struct wp_error *error)
{
	char reason[WP_FIO_REASON];

	wp_fio_reason(reason, text, size);
	if (!size)
		return bad(error, "nothing in it");
	return wp_error_set(error, WP_EXIT_CONTENT, "fio's output: no whole JSON in it%s%s",
			    reason[0] ? ": " : "", reason);
}

static int read_version(struct wp_fio_figures *figures, const json_t *document,
			struct wp_error *error)
{
	const char *version = json_string_value(json_object_get(document, "fio version"));
	const char *number = version && strncmp(version, "fio-", 4) == 0 ? version + 4 : NULL;

	if (!number || !isdigit((unsigned char)*number))
		return bad(error, "no \"fio version\"");
	if (strtol(number, NULL, 10) < VERSION_MIN)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "%.30s is too old: fio %d or later is needed", version,
				    VERSION_MIN);
	snprintf(figures->version, sizeof(figures->version), "%.31s", version);
	return 0;
}

/* Whole numbers and reals; false unless it is a number of at least 0. */
static bool number_of(const json_t *object, const char *key, double *number)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		return false;
	*number = json_number_value(value);
	return *number >= 0 && *number < 9e18;
}

static uint64_t count_or_0(const json_t *object, const char *key, uint64_t factor)
{
	double number;

	return number_of(object, key, &number) && number * (double)factor < 9e18
		   ? (uint64_t)(number * (double)factor)
		   : 0;
}

static void read_latency(struct wp_fio_latency *latency, const json_t *object)
{
	const json_t *percentile = json_object_get(object, "percentile");
	double ignored;

	latency->known = number_of(percentile, "50.000000", &ignored) &&
			 number_of(percentile, "99.000000", &ignored) &&
			 number_of(percentile, "99.900000", &ignored) &&
			 number_of(object, "max", &ignored);
	if (!latency->known)
		return;
	latency->max = count_or_0(object, "max", 1);
	latency->p50 = count_or_0(percentile, "50.000000", 1);
	latency->p99 = count_or_0(percentile, "99.000000", 1);
	latency->p99_9 = count_or_0(percentile, "99.900000", 1);
	/* Percentiles are the upper edges of fio's buckets and may lie above its maximum. */
	latency->p50 = latency->p50 < latency->max ? latency->p50 : latency->max;
	latency->p99 = latency->p99 < latency->max ? latency->p99 : latency->max;
	latency->p99_9 = latency->p99_9 < latency->max ? latency->p99_9 : latency->max;
}

/*
 * Three figures, one of them to spare: a change of units would show. The
 * duration is a whole number of milliseconds, which matters for the shortest.
 */
static bool adds_up(double bytes, double runtime_ms, double rate)
{
	double least = bytes * 1000 / (runtime_ms + 1);
	double most = runtime_ms > 1 ? bytes * 1000 / (runtime_ms - 1) : 9e18;

	return rate > 0 && rate >= 0.9 * least && rate <= 1.1 * most;
}

static int read_direction(struct wp_fio_direction *direction, const json_t *job, const char *key,
			  struct wp_error *error)
{
	const json_t *object = json_object_get(job, key);
	double bytes, runtime_ms, rate;

	if (!number_of(object, "io_bytes", &bytes) || !number_of(object, "runtime", &runtime_ms) ||
	    !number_of(object, "bw_bytes", &rate))
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "fio's output: \"%s\" lacks io_bytes, runtime or bw_bytes",
				    key);
	direction->bytes = (uint64_t)bytes;
	direction->runtime_ms = (uint64_t)runtime_ms;
	direction->bytes_per_s = (uint64_t)rate;
	if (!direction->bytes)
		return 0;
	if (!adds_up(bytes, runtime_ms, rate))
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "fio's output: \"%s\" does not add up: %.0f bytes in %.0f ms "
				    "are not %.0f bytes a second",
				    key, bytes, runtime_ms, rate);
	direction->bytes_per_s_min = count_or_0(object, "bw_min", KIB);
	direction->bytes_per_s_max = count_or_0(object, "bw_max", KIB);
	direction->bytes_per_s_deviation = count_or_0(object, "bw_dev", KIB);
	read_latency(&direction->completion, json_object_get(object, "clat_ns"));
	if (!direction->completion.known)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "fio's output: \"%s\" has no clat_ns with percentiles", key);
	return 0;
}

static int read_job(struct wp_fio_figures *figures, const json_t *job, struct wp_error *error)
{
	const json_t *steady = json_object_get(job, "steadystate");
	json_t *fault = json_object_get(job, "error");

	if (!json_is_integer(fault))
		return bad(error, "the job does not say whether it failed");
	if (json_integer_value(fault))
		return wp_error_set(error, WP_EXIT_CONTENT, "fio's job failed: %s",
				    strerror((int)json_integer_value(fault)));
	if (read_direction(&figures->read, job, "read", error) != 0 ||
	    read_direction(&figures->write, job, "write", error) != 0)
		return -1;
	if (!figures->read.bytes && !figures->write.bytes)
		return bad(error, "the job moved no byte");
	read_latency(&figures->flush, json_object_get(json_object_get(job, "sync"), "lat_ns"));
	figures->steady_asked = json_is_object(steady);
	figures->steady = json_integer_value(json_object_get(steady, "attained")) == 1;
	return 0;
}

static int read_document(struct wp_fio_figures *figures, const json_t *document, const char *name,
			 struct wp_error *error)
{
	const json_t *jobs = json_object_get(document, "jobs");
	const char *found = json_string_value(json_object_get(json_array_get(jobs, 0), "jobname"));

	if (read_version(figures, document, error) != 0)
		return -1;
	if (json_array_size(jobs) != 1 || !found || strcmp(found, name) != 0)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "fio's output: not of one job \"%s\", but of %zu, \"%.40s\"",
				    name, json_array_size(jobs), found ? found : "");
	return read_job(figures, json_array_get(jobs, 0), error);
}

int wp_fio_parse(struct wp_fio_figures *figures, const char *text, size_t size, const char *name,
		 struct wp_error *error)
{
	json_t *document = find_document(text, size);
	char reason[WP_FIO_REASON];
	int result;

	memset(figures, 0, sizeof(*figures));
	if (!document)
		return no_document(text, size, error);
	result = read_document(figures, document, name, error);
	json_decref(document);
	if (result != 0 && wp_fio_reason(reason, text, size)) {
		size_t length = strlen(error->text);

		snprintf(error->text + length, sizeof(error->text) - length, "; %s", reason);
	}
	return result;
}
