/* A calibration as a drive profile (profile.h reads it back) and as lines for people. */
#include <inttypes.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/machine/machine_json.h"
#include "harness/qualify/calibrate.h"
#include "harness/units.h"

static json_t *latency_json(const struct wp_fio_latency *latency)
{
	json_t *object = json_object();

	wp_json_put(object, "p50", wp_json_count(latency->p50));
	wp_json_put(object, "p99", wp_json_count(latency->p99));
	wp_json_put(object, "p99_9", wp_json_count(latency->p99_9));
	wp_json_put(object, "max", wp_json_count(latency->max));
	return object;
}

static json_t *direction_json(const struct wp_fio_direction *direction)
{
	json_t *object = json_object();

	if (!direction->bytes) {
		json_decref(object);
		return json_null();
	}
	wp_json_put(object, "bytes", wp_json_count(direction->bytes));
	wp_json_put(object, "duration_ms", wp_json_count(direction->runtime_ms));
	wp_json_put(object, "bytes_per_s", wp_json_count(direction->bytes_per_s));
	wp_json_put(object, "bytes_per_s_min", wp_json_count(direction->bytes_per_s_min));
	wp_json_put(object, "bytes_per_s_max", wp_json_count(direction->bytes_per_s_max));
	wp_json_put(object, "bytes_per_s_deviation",
		    wp_json_count(direction->bytes_per_s_deviation));
	wp_json_put(object, "latency_ns", latency_json(&direction->completion));
	return object;
}

static json_t *measured_json(const struct wp_calibrate_config *config,
			     const struct wp_calibration *calibration)
{
	json_t *measured = json_object();

	wp_json_put(measured, "by", wp_json_text(calibration->jobs[0].version));
	wp_json_put(measured, "engine", wp_json_text(config->engine));
	wp_json_put(measured, "file_bytes", wp_json_count(config->size_bytes));
	wp_json_put(measured, "read_bytes", wp_json_count(config->read_bytes));
	wp_json_put(measured, "read_depth", wp_json_count(config->read_depth));
	wp_json_put(measured, "steady", json_boolean(calibration->jobs[WP_CALIBRATE_READ].steady));
	for (int i = 0; i < WP_CALIBRATE_JOBS; i++) {
		const struct wp_fio_figures *figures = &calibration->jobs[i];
		json_t *job = json_object();

		wp_json_put(job, "read", direction_json(&figures->read));
		wp_json_put(job, "write", direction_json(&figures->write));
		wp_json_put(job, "flush_ns",
			    figures->flush.known ? latency_json(&figures->flush) : json_null());
		wp_json_put(measured, wp_calibrate_job_name((enum wp_calibrate_job)i), job);
	}
	wp_json_put(measured, "machine_facts", wp_machine_json(&calibration->machine));
	return measured;
}

int wp_calibrate_write(const struct wp_calibrate_config *config,
		       const struct wp_calibration *calibration, const char *name, const char *path,
		       struct wp_error *error)
{
	const struct wp_fio_figures *jobs = calibration->jobs;
	struct wp_output output = {0};
	json_t *root;
	int result;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	root = json_object();
	wp_json_put(root, "name", wp_json_text(name));
	wp_json_put(
	    root, "what",
	    wp_json_text("measured by `worldpager calibrate` with the jobs in configs/fio"));
	wp_json_put(root, "read_latency_ns",
		    wp_json_count(jobs[WP_CALIBRATE_LATENCY].read.completion.p50));
	wp_json_put(root, "write_latency_ns",
		    wp_json_count(jobs[WP_CALIBRATE_FLUSH].write.completion.p50));
	wp_json_put(root, "flush_latency_ns", wp_json_count(jobs[WP_CALIBRATE_FLUSH].flush.p50));
	wp_json_put(root, "read_bytes_per_s",
		    wp_json_count(jobs[WP_CALIBRATE_READ].read.bytes_per_s));
	wp_json_put(root, "write_bytes_per_s",
		    wp_json_count(jobs[WP_CALIBRATE_WRITE].write.bytes_per_s));
	wp_json_put(root, "verify_bytes_per_s", wp_json_count(calibration->verify_bytes_per_s));
	wp_json_put(root, "inferred", json_array());
	wp_json_put(root, "measured", measured_json(config, calibration));
	(void)!json_dumpf(root, output.stream, JSON_INDENT(2));
	fputc('\n', output.stream);
	json_decref(root);
	result = wp_output_commit(&output, error);
	wp_output_abandon(&output);
	return result;
}

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

void wp_calibrate_print(const struct wp_calibration *calibration, FILE *stream)
{
	const struct wp_fio_figures *jobs = calibration->jobs;
	const struct wp_fio_figures *read = &jobs[WP_CALIBRATE_READ];
	const struct wp_fio_direction *write = &jobs[WP_CALIBRATE_WRITE].write;
	const struct wp_fio_figures *mixed = &jobs[WP_CALIBRATE_MIXED];
	const struct wp_fio_latency *latency = &jobs[WP_CALIBRATE_LATENCY].read.completion;
	char text[WP_UNITS_TEXT], other[WP_UNITS_TEXT];

	fprintf(stream, "reads      %s, between %.0f and %.0f MB/s, %s\n",
		wp_units_rate(text, read->read.bytes_per_s),
		(double)read->read.bytes_per_s_min / 1e6, (double)read->read.bytes_per_s_max / 1e6,
		read->steady ? "steady" : "not steady to the end");
	fprintf(stream, "writes     %s%s\n", wp_units_rate(text, write->bytes_per_s),
		write->runtime_ms < WP_FIO_SHORT_MS
		    ? " (of so little that it cannot be trusted: a larger --size)"
		    : "");
	fprintf(stream, "both       %s read, %s written\n",
		wp_units_rate(text, mixed->read.bytes_per_s),
		wp_units_rate(other, mixed->write.bytes_per_s));
	fprintf(stream, "a 4 KiB read takes %.0f us (p99 %.0f, longest %.0f); ", us(latency->p50),
		us(latency->p99), us(latency->max));
	fprintf(stream, "a write %.0f us, a flush %.0f us (p99 %.0f)\n",
		us(jobs[WP_CALIBRATE_FLUSH].write.completion.p50),
		us(jobs[WP_CALIBRATE_FLUSH].flush.p50), us(jobs[WP_CALIBRATE_FLUSH].flush.p99));
	fprintf(stream, "checksums  %s\n", wp_units_rate(text, calibration->verify_bytes_per_s));
}
