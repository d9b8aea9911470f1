# worldpager: build, test, reproduce. `make help` lists the targets.
#
# Variables: CC=gcc|clang  OPT=-O2  SANITIZE=address,undefined  WERROR=1  FUZZ=1
#            CUDA=auto|0|1  CUDA_HOME=/usr/local/cuda
#            CFLAGS= LDFLAGS= (added)  PREFIX=/usr/local  DESTDIR=  JOBS=

ifeq ($(origin CC),default)
CC := gcc
endif
OPT     ?= -O2
BUILD   ?= build
PREFIX  ?= /usr/local
DATADIR := $(PREFIX)/share/worldpager
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
MINUTES ?= 10

# CUDA: 1 needs nvcc, 0 leaves it alone, auto takes it where it is, in plain builds. Without it
# everything is built but `--world real`, which then says what is missing.
CUDA      ?= auto
CUDA_HOME ?= /usr/local/cuda
ifneq ($(filter-out auto 0 1,$(CUDA)),)
$(error CUDA=$(CUDA): one of auto 0 1)
endif
NVCC      ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard $(CUDA_HOME)/bin/nvcc))
# The static runtime where nvcc itself would look for it, whatever links lead to nvcc.
CUDART    ?= $(if $(NVCC),$(firstword $(wildcard $(addsuffix /libcudart_static.a,\
             $(shell $(NVCC) --dryrun -x cu /dev/null -o /dev/null 2>&1 | \
             sed -n 's/^.. LIBRARIES=//p' | tr -d '"' | sed 's/-L//g') \
             $(CUDA_HOME)/lib64))))
CUDART    := $(CUDART)
HAVE_CUDA := $(if $(filter 1,$(CUDA)),1,$(if $(filter auto,$(CUDA)),$(if $(SANITIZE)$(FUZZ),,$(if $(CUDART),1))))
ifeq ($(HAVE_CUDA)$(NVCC),1)
$(error CUDA=1: no nvcc in PATH nor in $(CUDA_HOME)/bin; set CUDA_HOME or NVCC, or build with CUDA=0)
endif
ifeq ($(HAVE_CUDA)$(CUDART),1)
$(error CUDA=1: no libcudart_static.a beside $(NVCC); set CUDART=FILE, or build with CUDA=0)
endif

VERSION := 0.1.0
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

# Objects of each variant live in a folder of their own, so that variants never mix.
comma   := ,
empty   :=
space   := $(empty) $(empty)
VARIANT := $(subst $(space),_,$(notdir $(CC)))$(OPT)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(WERROR),-werror)$(if $(FUZZ),-fuzz)$(if $(filter 0 1,$(CUDA)),-cuda$(CUDA))
OBJ     := $(BUILD)/obj/$(VARIANT)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wundef -Wvla -Wformat=2 -Wno-sign-conversion
# -ffp-contract=off: traces are the same bytes on every machine (design: motion and rounding).
CFLAGS_ALL := -std=c11 -D_GNU_SOURCE -I. $(OPT) -g -pthread -ffp-contract=off \
              -fno-strict-aliasing $(WARNINGS) $(if $(WERROR),-Werror) \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
              $(if $(FUZZ),-fsanitize=fuzzer-no-link) $(CFLAGS)
LDFLAGS_ALL := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

# RTX 4090, H100 and H200, and an intermediate form that newer drivers translate themselves.
NVCC_TARGETS := -gencode arch=compute_89,code=sm_89 -gencode arch=compute_90,code=sm_90 \
                -gencode arch=compute_90,code=compute_90
NVCC_FLAGS   := -std=c++17 -D_GNU_SOURCE -I. -O3 -lineinfo --fmad=false $(NVCC_TARGETS) \
                $(if $(WERROR),-Werror all-warnings) -Xcompiler=-Wall,-fno-exceptions,-fno-threadsafe-statics
LIBS_CUDA    := $(if $(HAVE_CUDA),$(CUDART) -ldl -lrt -lpthread)
LIBS_PAGER   := -luring -lxxhash -lm $(LIBS_CUDA)
LIBS_HARNESS := -ljansson -lm
LIBS_TEST    := -lcmocka

PAGER_SRC   := $(if $(HAVE_CUDA),$(filter-out pager/gpu_absent.c,$(wildcard pager/*.c)),$(wildcard pager/*.c))
CUDA_SRC    := $(if $(HAVE_CUDA),$(wildcard pager/*.cu))
HARNESS_SRC := $(wildcard harness/*.c harness/*/*.c)
TEST_SRC    := $(wildcard tests/*/test_*.c)
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRC   := $(wildcard tests/bench/bench_*.c)

PAGER_OBJ   := $(PAGER_SRC:%.c=$(OBJ)/%.o) $(CUDA_SRC:%.cu=$(OBJ)/%.cu.o)
HARNESS_OBJ := $(HARNESS_SRC:%.c=$(OBJ)/%.o)
HARNESS_LIB_OBJ := $(filter-out $(OBJ)/harness/main.o,$(HARNESS_OBJ))
TEST_BIN    := $(TEST_SRC:%.c=$(OBJ)/%)
FUZZ_BIN    := $(FUZZ_SRC:%.c=$(OBJ)/%)
BENCH_BIN   := $(BENCH_SRC:%.c=$(OBJ)/%)
VM_BIN      := $(OBJ)/tests/vm/session_writer
SIM_BIN     := $(OBJ)/tests/sim/simulate
# What measures a GPU, and programs of the real world over one that is played on the host.
MEASURE_OBJ := $(patsubst %,$(OBJ)/tests/gpu/%.o,measure_gpu check_kernels measure_rates)
GPU_BIN     := $(patsubst %,$(OBJ)/tests/gpu/%,measure_gpu measure_played worldpager_played \
               embed_played) $(OBJ)/pager/examples/embed
LIBRARIES   := $(OBJ)/libharness.a $(OBJ)/libworldpager.a

.DELETE_ON_ERROR:
.PHONY: all tests gpu test sim soak mutation test-vm check smoke bench codec-report reproduce ci fuzz fuzzers setup probe install uninstall clean help FORCE

all: $(BUILD)/worldpager ## build build/worldpager (the default)

# A link, not a copy made once: build/worldpager is what the last `make` built, whatever variant.
$(BUILD)/worldpager: $(OBJ)/worldpager FORCE
	@[ $@ -ef $< ] || { rm -f $@ && { ln $< $@ 2>/dev/null || cp $< $@; }; }

$(OBJ)/worldpager: $(OBJ)/harness/main.o $(LIBRARIES)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_PAGER) $(LIBS_HARNESS)

$(OBJ)/libworldpager.a: $(PAGER_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(OBJ)/libharness.a: $(HARNESS_LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(OBJ)/%.o: %.c $(OBJ)/flags | probe
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(OBJ)/%.cu.o: %.cu $(OBJ)/flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# What the objects depend on beyond their sources; touched only when it changes.
BUILT_AS := $(CC) $(CFLAGS_ALL)$(if $(HAVE_CUDA), $(NVCC) $(NVCC_FLAGS))
$(OBJ)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(BUILT_AS)' | cmp -s - $@ || printf '%s\n' '$(BUILT_AS)' >$@

IDENTITY := -DWP_VERSION='"$(VERSION)"' -DWP_COMMIT='"$(COMMIT)"' -DWP_DATADIR='"$(DATADIR)"'
$(OBJ)/identity: FORCE
	@mkdir -p $(@D)
	@echo "$(VERSION) $(COMMIT) $(DATADIR)" | cmp -s - $@ || echo "$(VERSION) $(COMMIT) $(DATADIR)" >$@
$(OBJ)/harness/tool.o: $(OBJ)/identity
# private: or it would colour $(OBJ)/flags too.
$(OBJ)/harness/tool.o: private CFLAGS_ALL += $(IDENTITY)

$(OBJ)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(LIBRARIES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -MF $@.d $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $< $(LIBRARIES) \
		$(LIBS_PAGER) $(LIBS_HARNESS)

$(OBJ)/tests/%: tests/%.c $(LIBRARIES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -MF $@.d $(LDFLAGS_ALL) -o $@ $< $(LIBRARIES) \
		$(LIBS_PAGER) $(LIBS_HARNESS) $(LIBS_TEST)

$(OBJ)/tests/gpu/measure_gpu: $(MEASURE_OBJ)
$(OBJ)/tests/gpu/measure_played: $(OBJ)/tests/gpu/played_gpu.o $(MEASURE_OBJ)
$(OBJ)/tests/gpu/worldpager_played: $(OBJ)/tests/gpu/played_gpu.o $(OBJ)/harness/main.o
$(OBJ)/tests/gpu/embed_played: $(OBJ)/tests/gpu/played_gpu.o $(OBJ)/pager/examples/embed.o
$(OBJ)/pager/examples/embed: $(OBJ)/pager/examples/embed.o
$(GPU_BIN): $(LIBRARIES)
	$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(LIBRARIES) $(LIBS_PAGER) $(LIBS_HARNESS)

# One readable line instead of a page of compiler errors.
HEADERS := liburing.h jansson.h xxhash.h
compiles = printf '\#include <%s>\n' $(1) | $(CC) -D_GNU_SOURCE -x c -fsyntax-only - 2>/dev/null
probe:
	@$(call compiles,$(HEADERS)) || for header in $(HEADERS); do \
		$(call compiles,$$header) || \
		echo "worldpager needs $$header, which $(CC) does not find: run \`make setup\`" >&2; \
	done | { cat; false; }

tests: $(OBJ)/worldpager $(TEST_BIN) $(VM_BIN) $(SIM_BIN) $(GPU_BIN)

gpu: $(BUILD)/worldpager $(OBJ)/tests/gpu/measure_gpu ## what scripts/gpu-check runs (CUDA=1)

setup: ## install the Debian packages that are missing
	@scripts/setup

test: ## install what is missing, build, run all tests (also with SANITIZE=address,undefined)
	@scripts/setup
	@$(MAKE) --no-print-directory -j$(JOBS) tests
	@scripts/check-layers
	@scripts/check-style
	@scripts/mutation --check
	@tests/run --objects $(OBJ)

sim: $(SIM_BIN) ## play the simulated session that SEED=n draws, twice; COUNT=n from there on
	@$< $(or $(SEED),1) $(COUNT)

soak: $(SIM_BIN) ## simulated sessions with faults, fresh seeds for MINUTES=10
	@$< --minutes $(MINUTES)

mutation: ## planted bugs, and FLIPS=200 operators exchanged by SEED=1: what do the tests notice?
	@scripts/setup
	@scripts/mutation --seed $(or $(SEED),1) --flips $(or $(FLIPS),200) --jobs $(JOBS)

test-vm: ## a guest in QEMU with NVMe drives and cgroup v2, and its power cut: under 4 minutes
	@scripts/setup
	@$(MAKE) --no-print-directory -j$(JOBS) tests
	@scripts/test-vm --objects $(OBJ)

bench: ## the table of results/bench: beside fio, memcpy and the page cache; about 12 minutes
	@scripts/setup
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BENCH_BIN)
	@scripts/bench --programs $(OBJ)/tests/bench --store results/store --out results/bench

codec-report: $(BUILD)/worldpager ## accuracy of the codecs: table and figure in results/codec
	$< codec-report --out results/codec
	gnuplot -c scripts/codec_report.gp results/codec

smoke: ## the simulated sweep with its checks: no root, no drive, under a minute
	@scripts/setup
	@$(MAKE) --no-print-directory -j$(JOBS)
	@rm -rf $(BUILD)/smoke
	@$(BUILD)/worldpager sweep smoke --out $(BUILD)/smoke --no-figures

reproduce: ## sweeps, figures and verdicts in results/reproduce: SCALE=1 for the paper's size
	@scripts/setup
	@$(MAKE) --no-print-directory -j$(JOBS)
	@scripts/reproduce $(if $(SCALE),--scale $(SCALE))

ci: ## everything a change has to pass: compilers, sanitizers, analysers, fuzzing
	@scripts/ci

fuzz: ## fuzz the readers of hostile input: MINUTES=10 in all
	@scripts/setup ci
	@scripts/fuzz --minutes $(MINUTES)

fuzzers: $(FUZZ_BIN)

install: $(OBJ)/worldpager ## program, library, headers, data and man page: PREFIX, DESTDIR
	@DESTDIR='$(DESTDIR)' scripts/install --objects $(OBJ) --prefix '$(PREFIX)' \
		--version $(VERSION) $(if $(HAVE_CUDA),--cudart '$(CUDART)')

uninstall: ## remove what `make install` has put under PREFIX, DESTDIR
	@DESTDIR='$(DESTDIR)' scripts/install --uninstall --prefix '$(PREFIX)'

clean: ## remove everything built
	rm -rf $(BUILD)

help: ## this text
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(PAGER_OBJ:.o=.d) $(HARNESS_OBJ:.o=.d) $(TEST_BIN:%=%.d) $(FUZZ_BIN:%=%.d) \
	$(BENCH_BIN:%=%.d) $(VM_BIN:%=%.d) $(SIM_BIN:%=%.d) $(OBJ)/tests/gpu/played_gpu.d $(MEASURE_OBJ:.o=.d) $(OBJ)/pager/examples/embed.d
