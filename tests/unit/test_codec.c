/*
 * Codecs: the plain int4 code against a second computation in double precision,
 * every fast path against the plain code, and the layout of stored blocks.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "pager/codec.h"
#include "pager/codec_arith.h"
#include "pager/codec_int4.h"
#include "pager/random.h"

#define SEED	      20251u
#define ELEMENTS_MAX  4096u
#define GUARD	      64u
#define GUARD_BYTE    0xa5
#define BF16_MAX_REAL 3.3895313892515355e38
#define BF16_TINY     9.183549615799121e-41 /* the smallest denormal */

static double real(uint16_t bf16)
{
	return (double)wp_bf16_to_float(bf16);
}

/* The bf16 value next to `x`, ties to even, found without bit arithmetic. */
static double nearest_bf16(double x)
{
	int exponent;
	double unit;

	if (x == 0.0)
		return 0.0;
	frexp(x, &exponent);
	unit = fmax(ldexp(1.0, exponent - 8), BF16_TINY);
	x = rint(x / unit) * unit;
	return fmin(fmax(x, -BF16_MAX_REAL), BF16_MAX_REAL);
}

static void test_rounding_to_bf16(void **state)
{
	struct wp_random random = {SEED};

	(void)state;
	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t bits = (uint32_t)wp_random_next(&random);
		float value = wp_float_of_bits(i % 3 == 0 ? bits & 0x80ffffffu : bits);

		if (isfinite(value))
			assert_true(real(wp_bf16_from_float(value)) == nearest_bf16(value));
	}
	assert_int_equal(wp_bf16_from_float(1.00390625f), 0x3f80); /* ties to even, down */
	assert_int_equal(wp_bf16_from_float(1.01171875f), 0x3f82); /* and up */
	assert_int_equal(wp_bf16_from_float(-0.0f), 0x8000);
	assert_int_equal(wp_bf16_from_float((float)NAN), WP_BF16_NAN);
	assert_int_equal(wp_bf16_from_float(INFINITY), WP_BF16_MAX);
	assert_int_equal(wp_bf16_from_float(-INFINITY), 0x8000 | WP_BF16_MAX);
}

static void test_every_scale(void **state)
{
	(void)state;
	for (uint32_t absmax = 0; absmax < WP_BF16_INF; absmax++) {
		double expected = nearest_bf16(real((uint16_t)absmax) / 7.0);

		assert_true(real(wp_int4_scale((uint16_t)absmax)) == expected);
	}
}

/* Every seventh magnitude as the largest of its group, with all others down to
 * five binades below, where q has long been 0. */
static void test_every_quotient(void **state)
{
	(void)state;
	for (uint32_t absmax = 4; absmax < WP_BF16_INF; absmax += 7) {
		uint16_t scale = wp_int4_scale((uint16_t)absmax);

		for (uint32_t value = absmax < 640 ? 0 : absmax - 640; value <= absmax; value++) {
			float quotient = (float)(real((uint16_t)value) / real(scale));
			double q = fmin(rint((double)quotient), 7.0);
			uint16_t negative = (uint16_t)(value | 0x8000u);

			if (wp_int4_encode((uint16_t)value, scale) != 8u + (uint32_t)q ||
			    wp_int4_encode(negative, scale) != 8u - (uint32_t)q)
				fail_msg("value %04x, scale %04x", value, scale);
		}
	}
}

/* -- whole blocks -------------------------------------------------------- */

struct image {
	uint16_t elements[ELEMENTS_MAX + GUARD];
	uint8_t stored[ELEMENTS_MAX + GUARD];
	uint16_t decoded[ELEMENTS_MAX + 2 * GUARD];
};

static struct image *image_open(void)
{
	struct image *image = aligned_alloc(64, (sizeof(*image) + 63) / 64 * 64);

	assert_non_null(image);
	memset(image, 0, sizeof(*image));
	return image;
}

static struct wp_codec_part whole(uint64_t elements)
{
	return (struct wp_codec_part){elements, 0, elements};
}

/* One element of the `kind` of data; each kind is one way to go wrong. */
static uint16_t draw(struct wp_random *random, uint32_t kind)
{
	uint64_t bits = wp_random_next(random);
	uint16_t any = (uint16_t)bits;

	switch (kind) {
	case 0: /* ordinary: about a normal distribution */
		return wp_bf16_from_float((float)((double)(uint32_t)(bits >> 32) / 4294967296.0 +
						  (double)(uint32_t)bits / 4294967296.0 - 1.0));
	case 1: /* any pattern at all */
		return any;
	case 2: /* any finite one */
		return (any & 0x7fffu) >= WP_BF16_INF ? 0 : any;
	case 3: /* denormals */
		return any & 0x80ffu;
	case 4: /* almost nothing, zeros of both signs */
		return (bits >> 32) % 61 == 0 ? any & 0x8005u : any & 0x8000u;
	case 5: /* one outlier a group or so */
		return (bits >> 32) % 64 == 0 ? 0x7149 : (uint16_t)(0x3c00u + any % 512);
	case 6: /* ties: small integers and halves */
		return wp_bf16_from_float((float)((int32_t)(any % 57) - 28) / 4.0f);
	default: /* the largest values */
		return (uint16_t)((any & 0x8000u) | (0x7f70u + any % 17));
	}
}

#define KINDS 8u

static void check_element(uint16_t before, uint16_t after, uint16_t scale)
{
	uint16_t magnitude = before & 0x7fffu;
	double expected = magnitude > WP_BF16_INF    ? 0.0
			  : magnitude == WP_BF16_INF ? copysign(BF16_MAX_REAL, real(before))
						     : real(before);
	double error = fabs(real(after) - expected);
	/* Half a step, the rounding of the largest value's own scale, that of the result. */
	double bound = real(scale) / 2 + 7 * real(scale) / 256 + fabs(real(after)) / 256;

	if (scale == 0)
		bound = 3 * BF16_TINY;
	if (!(error <= bound) || (after & 0x7fffu) >= WP_BF16_INF)
		fail_msg("%04x became %04x, scale %04x", before, after, scale);
}

static void round_trip(struct image *image, uint64_t elements, struct wp_codec_counts *counts)
{
	struct wp_codec_part part = whole(elements);

	wp_codec_int4.encode(image->elements, &part, image->stored, counts);
	wp_codec_int4.decode(image->stored, &part, NULL, image->decoded);
	for (uint64_t i = 0; i < elements; i++) {
		uint16_t scale;

		memcpy(&scale, image->stored + (elements + 1) / 2 + i / 64 * 2, sizeof(scale));
		check_element(image->elements[i], image->decoded[i], scale);
	}
}

static void test_round_trip_bounds(void **state)
{
	struct image *image = image_open();
	struct wp_random random = {SEED};
	struct wp_codec_counts counts = {0, 0};

	(void)state;
	for (uint32_t round = 0; round < 400; round++) {
		uint64_t elements = 1 + wp_random_below(&random, ELEMENTS_MAX);

		for (uint64_t i = 0; i < elements; i++)
			image->elements[i] = draw(&random, round % KINDS);
		round_trip(image, elements, &counts);
	}
	free(image);
}

static void test_every_pattern(void **state)
{
	struct image *image = image_open();
	struct wp_codec_counts counts = {0, 0};

	(void)state;
	for (uint32_t first = 0; first < 65536; first += ELEMENTS_MAX) {
		for (uint32_t i = 0; i < ELEMENTS_MAX; i++)
			image->elements[i] = (uint16_t)(first + i);
		round_trip(image, ELEMENTS_MAX, &counts);
	}
	assert_int_equal(counts.nans, 2 * 127);
	assert_int_equal(counts.infinities, 2);
	free(image);
}

/* Public trouble reports: what a group of such values must become. */
static void test_named_cases(void **state)
{
	static const struct {
		uint16_t value, others, value_after, others_after;
	} cases[] = {
	    {0x0000, 0x0000, 0x0000, 0x0000}, /* zeros */
	    {0x8000, 0x8000, 0x0000, 0x0000}, /* -0.0 */
	    {0x3f80, 0x3f80, 0x3f80, 0x3f80}, /* all equal: 7 x 0.142578 = 0.998 -> 1.0 */
	    {0x7149, 0x3f80, 0x7149, 0x0000}, /* an outlier of 1e30 */
	    {0x0001, 0x8001, 0x0000, 0x0000}, /* 1e-40: no scale is small enough */
	    {0x0007, 0x8007, 0x0007, 0x8007}, /* the smallest denormal is a scale */
	    {0x7f80, 0x3f80, 0x7f7f, 0x0000}, /* infinity */
	    {0xff80, 0xff80, 0xff7f, 0xff7f},
	    {0x7fc0, 0x4000, 0x0000, 0x4000}, /* NaN leaves its neighbours alone */
	    {0xff81, 0x0000, 0x0000, 0x0000},
	};
	static const uint64_t lengths[] = {1, 2, 63, 64, 65};
	struct image *image = image_open();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			struct wp_codec_counts counts = {0, 0};
			uint64_t last = lengths[j] - 1;

			for (uint64_t e = 0; e < last; e++)
				image->elements[e] = cases[i].others;
			image->elements[last] = cases[i].value;
			round_trip(image, lengths[j], &counts);
			assert_int_equal(image->decoded[last], cases[i].value_after);
			if (last > 0 && lengths[j] <= 64)
				assert_int_equal(image->decoded[0], cases[i].others_after);
		}
	}
	free(image);
}

/* -- fast paths ---------------------------------------------------------- */

static void check_encode(const struct wp_int4_path *path, const uint16_t *elements, uint64_t groups)
{
	uint8_t packed[2][ELEMENTS_MAX / 2 + 1], scales[2][ELEMENTS_MAX / 32 + 1];
	struct wp_codec_counts counts[2] = {{0, 0}, {0, 0}};

	memset(packed, GUARD_BYTE, sizeof(packed));
	memset(scales, GUARD_BYTE, sizeof(scales));
	wp_int4_plain.encode(elements, groups, packed[0], scales[0], &counts[0]);
	path->encode(elements, groups, packed[1], scales[1], &counts[1]);
	assert_memory_equal(packed[0], packed[1], sizeof(packed[0]));
	assert_memory_equal(scales[0], scales[1], sizeof(scales[0]));
	assert_memory_equal(&counts[0], &counts[1], sizeof(counts[0]));
}

static void test_paths_encode_alike(void **state)
{
	static uint16_t elements[ELEMENTS_MAX + 1];
	struct wp_random random = {SEED};
	const struct wp_int4_path *path;

	(void)state;
	for (uint32_t i = 0; (path = wp_int4_path_at(i)); i++) {
		if (!path->supported())
			continue;
		for (uint32_t round = 0; round < 400; round++) {
			uint64_t groups = wp_random_below(&random, ELEMENTS_MAX / 64 + 1);
			uint32_t shift = round % 2; /* no alignment is promised */
			uint32_t kind = round / 2 % (KINDS + 1);

			for (uint64_t e = 0; e < groups * 64; e++)
				elements[shift + e] =
				    draw(&random, kind < KINDS ? kind : (uint32_t)(e / 64 % KINDS));
			check_encode(path, elements + shift, groups);
		}
	}
}

/*
 * Every quotient of two magnitudes in which the fast paths may differ: all significands of the
 * largest of a group, at either end of its range, where the fast paths begin, and in between;
 * with all magnitudes from there down to five binades below, of both signs.
 */
static void test_paths_divide_alike(void **state)
{
	static const uint32_t exponents[] = {0, 1, 2, 3, 4, 5, 127, 253, 254};
	static uint16_t elements[ELEMENTS_MAX];
	const struct wp_int4_path *path;

	(void)state;
	for (size_t i = 0; i < sizeof(exponents) / sizeof(exponents[0]) * 128; i++) {
		uint16_t absmax = (uint16_t)(exponents[i / 128] << 7 | i % 128);
		uint32_t value = absmax, groups = 0;

		for (; value + 640 > absmax && value && groups < ELEMENTS_MAX / 64; groups++) {
			uint16_t *group = elements + groups * 64;

			group[0] = group[1] = absmax;
			for (uint32_t e = 2; e < 64; e += 2) {
				group[e] = (uint16_t)value;
				group[e + 1] = (uint16_t)(value | 0x8000u);
				value -= value > 0;
			}
		}
		for (uint32_t p = 0; (path = wp_int4_path_at(p)); p++)
			if (path->supported())
				check_encode(path, elements, groups);
	}
}

/* Also scales and nibbles that encoding never makes. */
static void test_paths_decode_alike(void **state)
{
	static uint8_t stored[ELEMENTS_MAX];
	static uint16_t expected[ELEMENTS_MAX + 1], decoded[ELEMENTS_MAX + 1];
	struct wp_random random = {SEED};
	const struct wp_int4_path *path;

	(void)state;
	for (uint32_t i = 0; (path = wp_int4_path_at(i)); i++) {
		if (!path->supported())
			continue;
		for (uint32_t round = 0; round < 400; round++) {
			uint64_t groups = wp_random_below(&random, ELEMENTS_MAX / 64 + 1);
			uint32_t shift = round % 2;
			uint8_t *scales = stored + shift + groups * 32;

			for (uint64_t b = 0; b < groups * 32; b++)
				stored[shift + b] = (uint8_t)wp_random_next(&random);
			for (uint64_t g = 0; g < groups; g++) {
				uint16_t scale = draw(&random, round / 2 % KINDS);

				if (round % 3 == 0)
					scale &= 0x7fffu;
				memcpy(scales + 2 * g, &scale, sizeof(scale));
			}
			memset(expected, GUARD_BYTE, sizeof(expected));
			memset(decoded, GUARD_BYTE, sizeof(decoded));
			wp_int4_plain.decode(stored + shift, scales, groups, expected + shift);
			path->decode(stored + shift, scales, groups, decoded + shift);
			assert_memory_equal(expected, decoded, sizeof(expected));
		}
	}
}

/* Every scale with every nibble, and an output large enough to bypass the caches. */
static void test_paths_decode_every_scale(void **state)
{
	enum { GROUPS = 65536 };
	uint8_t *packed = malloc(GROUPS * 32u), *scales = malloc(GROUPS * 2u);
	uint16_t *expected = malloc(GROUPS * 128u), *decoded = aligned_alloc(64, GROUPS * 128u);
	const struct wp_int4_path *path;

	(void)state;
	assert_true(packed && scales && expected && decoded);
	for (uint32_t g = 0; g < GROUPS; g++) {
		uint16_t scale = (uint16_t)g;

		memcpy(scales + 2 * g, &scale, sizeof(scale));
		for (uint32_t b = 0; b < 32; b++)
			packed[32 * g + b] = (uint8_t)(b % 16 + 16 * ((b + b / 16 * 5) % 16));
	}
	wp_int4_plain.decode(packed, scales, GROUPS, expected);
	for (uint32_t i = 0; (path = wp_int4_path_at(i)); i++) {
		if (!path->supported())
			continue;
		assert_true(wp_int4_streams(decoded, GROUPS));
		path->decode(packed, scales, GROUPS, decoded);
		assert_memory_equal(expected, decoded, GROUPS * 128u);
	}
	free(packed);
	free(scales);
	free(expected);
	free(decoded);
}

/* -- layout -------------------------------------------------------------- */

static void test_sizes(void **state)
{
	const struct wp_block_shape mg2 = {30, 3 * 880, 12, 128};
	uint64_t elements = wp_block_shape_elements(&mg2);

	(void)state;
	assert_int_equal(elements, 243302400);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_bf16, elements), 486604800);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_int4, elements), 129254400);
	assert_int_equal(wp_block_shape_tensor_elements(&mg2) / 2, 2027520);
	assert_int_equal(wp_block_shape_tensor_elements(&mg2) / 2 % 4096, 0);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_int4, 0), 0);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_int4, 1), 1 + 2);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_int4, 64), 32 + 2);
	assert_int_equal(wp_codec_block_bytes(&wp_codec_int4, 65), 33 + 4);
	assert_ptr_equal(wp_codec_find("int4"), &wp_codec_int4);
	assert_ptr_equal(wp_codec_find("bf16"), &wp_codec_bf16);
	assert_null(wp_codec_find("int"));
	assert_null(wp_codec_at(2));
}

/* Parts land where the whole would put them, and nothing is written beyond. */
static void test_parts(void **state)
{
	struct image *image = image_open(), *other = image_open();
	struct wp_random random = {SEED};
	const struct wp_codec *codec;

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		struct wp_codec_counts counts = {0, 0}, other_counts = {0, 0};
		uint64_t elements = 1 + wp_random_below(&random, ELEMENTS_MAX / 2);
		struct wp_codec_part part = whole(elements);
		uint64_t bytes;

		codec = wp_codec_at(round % 2);
		bytes = codec->block_bytes(elements);
		for (uint64_t i = 0; i < elements; i++)
			image->elements[i] = draw(&random, round / 2 % KINDS);
		memset(image->stored, GUARD_BYTE, sizeof(image->stored));
		memset(other->stored, GUARD_BYTE, sizeof(other->stored));
		codec->encode(image->elements, &part, image->stored, &counts);
		memset(image->decoded, GUARD_BYTE, sizeof(image->decoded));
		memset(other->decoded, GUARD_BYTE, sizeof(other->decoded));
		codec->decode(image->stored, &part, NULL, image->decoded);

		for (part.first = 0; part.first < elements; part.first += part.count) {
			part.count = 64 * (1 + wp_random_below(&random, 9));
			if (part.count > elements - part.first)
				part.count = elements - part.first;
			codec->encode(image->elements + part.first, &part, other->stored,
				      &other_counts);
			codec->decode(image->stored, &part, NULL, other->decoded + part.first);
		}
		assert_memory_equal(image->stored, other->stored, sizeof(image->stored));
		assert_memory_equal(image->decoded, other->decoded, sizeof(image->decoded));
		assert_memory_equal(&counts, &other_counts, sizeof(counts));
		assert_int_equal(image->stored[bytes], GUARD_BYTE);
		assert_int_equal(image->decoded[elements], 0x101 * GUARD_BYTE);
	}
	free(image);
	free(other);
}

static void test_bf16_is_raw(void **state)
{
	static uint16_t elements[65536], stored[65536], decoded[65536];
	struct wp_codec_part part = whole(65536);
	struct wp_codec_counts counts = {0, 0};

	(void)state;
	for (uint32_t i = 0; i < 65536; i++)
		elements[i] = (uint16_t)i;
	wp_codec_bf16.encode(elements, &part, stored, &counts);
	wp_codec_bf16.decode(stored, &part, NULL, decoded);
	assert_memory_equal(elements, stored, sizeof(elements));
	assert_memory_equal(elements, decoded, sizeof(elements));
	assert_int_equal(counts.nans + counts.infinities, 0);
}

/* The same bits from every compiler, at every level, on every processor. */
static void test_golden_digest(void **state)
{
	struct image *image = image_open();
	struct wp_random random = {SEED};
	struct wp_codec_counts counts = {0, 0};
	struct wp_codec_part part = whole(ELEMENTS_MAX - 1);
	uint64_t bytes = wp_codec_int4.block_bytes(part.count), stored, decoded;

	(void)state;
	for (uint64_t i = 0; i < part.count; i++)
		image->elements[i] = draw(&random, (uint32_t)(i / 256 % KINDS));
	wp_codec_int4.encode(image->elements, &part, image->stored, &counts);
	wp_codec_int4.decode(image->stored, &part, NULL, image->decoded);
	stored = XXH3_64bits(image->stored, bytes);
	decoded = XXH3_64bits(image->decoded, 2 * part.count);
	if (stored != 0x0a488177988a5451u || decoded != 0xdfea00254dbf0c24u)
		fail_msg("stored %016llx, decoded %016llx", (unsigned long long)stored,
			 (unsigned long long)decoded);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rounding_to_bf16),
	    cmocka_unit_test(test_every_scale),
	    cmocka_unit_test(test_every_quotient),
	    cmocka_unit_test(test_round_trip_bounds),
	    cmocka_unit_test(test_every_pattern),
	    cmocka_unit_test(test_named_cases),
	    cmocka_unit_test(test_paths_encode_alike),
	    cmocka_unit_test(test_paths_divide_alike),
	    cmocka_unit_test(test_paths_decode_alike),
	    cmocka_unit_test(test_paths_decode_every_scale),
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_bf16_is_raw),
	    cmocka_unit_test(test_golden_digest),
	};

	printf("test_codec: seed %u\n", SEED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
