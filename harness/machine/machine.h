/*
 * What a machine is, as far as it bears on a result: enough to tell two
 * machines apart, nothing that names one (no host name, no serial numbers).
 */
#ifndef WP_MACHINE_H
#define WP_MACHINE_H

#include <stdint.h>

#include "harness/system/kernel.h"

struct wp_machine_facts {
	char architecture[32]; /* "x86_64" */
	char cpu_model[128];   /* empty: the kernel does not say */
	uint32_t cores;	       /* that this process may run on */
	uint64_t memory_bytes; /* 0: not known */
	char kernel_release[96];
	char cgroup[16];       /* "v1" "v2" "hybrid" "none" */
	char io_controller[8]; /* the version that can limit reads: "v1" "v2"; empty: neither */
	/* of the path asked about; empty, 0 or -1 where it has no disk or sysfs is silent */
	char filesystem[32];
	char disk[24];	    /* "MAJ:MIN" */
	char disk_name[64]; /* "nvme0n1" */
	char disk_model[96];
	uint64_t disk_bytes;
	uint32_t disk_sector_bytes;
	int disk_rotational; /* 0 1, -1: not known */
	int disk_numa_node;  /* -1: not known, or one node only */
	/* of the GPU that took part; empty, 0 where none did: not looked up here */
	char gpu[128];
	uint64_t gpu_memory_bytes;
	uint32_t gpu_driver; /* the CUDA it offers: 13000 is 13.0 */
};

/* Never fails: what cannot be read stays empty. `path` may not exist yet, or be NULL. */
void wp_machine_facts_read(struct wp_machine_facts *facts, const struct wp_kernel *kernel,
			   const char *path);

/*
 * 16 hex digits that are the same for the same machine and drive: XXH3-64 of
 * architecture, processor, cores, memory to the nearest GiB (a kernel keeps a
 * little more or less of it), the disk's model, size and sector, and the GPU's name
 * where one took part. Not of the kernel's release, names or numbers that change at boot: results
 * from before and after an update are there to be compared.
 */
#define WP_MACHINE_FINGERPRINT 17
void wp_machine_fingerprint(const struct wp_machine_facts *facts,
			    char text[WP_MACHINE_FINGERPRINT]);

#endif
