/* Every byte on the device side against the content function: see device_check.h. */
#include "harness/replay/device_check.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/limits.h"

struct wp_device_check {
	struct wp_device_check_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	bool busy; /* between begin and the thread's end */
	uint32_t count;
	uint32_t blocks[WP_SET_BLOCKS_MAX];
	const void *addresses[WP_SET_BLOCKS_MAX];
	struct wp_device_check_result result;
};

static void note_wrong(struct wp_device_check *check, uint32_t block, uint64_t offset)
{
	if (check->result.wrong)
		return;
	check->result.wrong = true;
	check->result.block = block;
	check->result.offset = offset;
}

static void check_block(struct wp_device_check *check, uint32_t block, const unsigned char *at)
{
	const struct wp_geometry *geometry = &check->config.geometry;
	uint32_t chunks = wp_geometry_chunks(geometry);
	uint32_t wrong = wp_content_wrong_chunk(at, wp_geometry_payload_bytes(geometry, 0, chunks),
						check->config.seed, block, 0, chunks);

	if (wrong < chunks)
		note_wrong(check, block, (uint64_t)wrong * WP_CHUNK_BYTES);
	check->result.blocks++;
}

static void check_block_on_gpu(struct wp_device_check *check, uint32_t block, const void *at)
{
	const struct wp_device_check_config *config = &check->config;
	int64_t offset = -1;
	int error = config->gpu->ops->differs(config->gpu, &config->geometry, config->seed, block,
					      at, &offset);

	if (error) {
		check->result.error = error;
		return;
	}
	if (offset >= 0)
		note_wrong(check, block, (uint64_t)offset);
	check->result.blocks++;
}

static void check_all(struct wp_device_check *check)
{
	for (uint32_t i = 0; i < check->count && !check->result.error; i++) {
		if (check->config.gpu)
			check_block_on_gpu(check, check->blocks[i], check->addresses[i]);
		else
			check_block(check, check->blocks[i], check->addresses[i]);
	}
}

static void *run(void *context)
{
	struct wp_device_check *check = context;

	pthread_mutex_lock(&check->lock);
	for (;;) {
		while (!check->busy && !check->stop)
			pthread_cond_wait(&check->changed, &check->lock);
		if (!check->busy)
			break;
		pthread_mutex_unlock(&check->lock);
		check_all(check);
		pthread_mutex_lock(&check->lock);
		check->busy = false;
		pthread_cond_broadcast(&check->changed);
	}
	pthread_mutex_unlock(&check->lock);
	return NULL;
}

int wp_device_check_open(struct wp_device_check **opened,
			 const struct wp_device_check_config *config)
{
	struct wp_device_check *check = calloc(1, sizeof(*check));
	int error;

	if (!check)
		return -ENOMEM;
	check->config = *config;
	pthread_mutex_init(&check->lock, NULL);
	pthread_cond_init(&check->changed, NULL);
	if (config->threaded) {
		error = pthread_create(&check->thread, NULL, run, check);
		if (error) {
			free(check);
			return -error;
		}
	}
	*opened = check;
	return 0;
}

void wp_device_check_close(struct wp_device_check *check)
{
	if (!check)
		return;
	if (check->config.threaded) {
		pthread_mutex_lock(&check->lock);
		check->stop = true;
		pthread_cond_broadcast(&check->changed);
		pthread_mutex_unlock(&check->lock);
		pthread_join(check->thread, NULL);
	}
	pthread_cond_destroy(&check->changed);
	pthread_mutex_destroy(&check->lock);
	free(check);
}

void wp_device_check_begin(struct wp_device_check *check, const uint32_t *blocks,
			   void *const *addresses, uint32_t count)
{
	WP_CHECK(count <= WP_SET_BLOCKS_MAX);
	pthread_mutex_lock(&check->lock);
	WP_CHECK(!check->busy);
	check->count = count;
	for (uint32_t i = 0; i < count; i++) {
		check->blocks[i] = blocks[i];
		check->addresses[i] = addresses[i];
	}
	check->busy = check->config.threaded;
	pthread_cond_broadcast(&check->changed);
	pthread_mutex_unlock(&check->lock);
	if (!check->config.threaded)
		check_all(check);
}

struct wp_device_check_result wp_device_check_end(struct wp_device_check *check)
{
	struct wp_device_check_result result;

	pthread_mutex_lock(&check->lock);
	while (check->busy)
		pthread_cond_wait(&check->changed, &check->lock);
	result = check->result;
	pthread_mutex_unlock(&check->lock);
	return result;
}
