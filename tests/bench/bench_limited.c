/*
 * Runs a command under the kernel's read limit on the disk behind a path, in a
 * control group of its own, as the replays do it:
 *
 *   bench_limited BYTES_PER_S PATH COMMAND [ARGUMENTS]
 *
 * The command's exit status; 3 where no limit can be set.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/throttle/throttle_cgroup.h"

static int fail(const char *text)
{
	fprintf(stderr, "bench_limited: %s\n", text);
	return 3;
}

static int run(char **command)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return fail(strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char **argv)
{
	struct wp_throttle_group group;
	struct wp_blockdev device;
	struct wp_error error;
	char why[WP_THROTTLE_WHY] = "";
	uint64_t bytes_per_s = argc > 3 ? strtoull(argv[1], NULL, 10) : 0, read_back;
	int fd, status;

	if (!bytes_per_s)
		return fail("usage: bench_limited BYTES_PER_S PATH COMMAND [ARGUMENTS]");
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(strerror(errno));
	if (wp_blockdev_of_fd(&device, &wp_kernel_host, fd, &error) != 0)
		return fail(error.text);
	close(fd);
	if (wp_throttle_group_open(&group, &wp_kernel_host, &device, bytes_per_s, &read_back,
				   why) != 0)
		return fail(why);
	status = run(argv + 3);
	return wp_throttle_group_undo(&group) == 0 ? status : fail("the group stays");
}
