# SPDX-License-Identifier: MIT
# Builds rootdk. `make help` lists what there is to ask for.
#
# One folder a mode in build/, sources by wildcard. Every output is written under a temporary name
# and moved, so that several makes at once on an unbuilt tree do not meet.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

MODE ?= release
CC ?= cc
AR ?= ar
OPENMP ?= 1
PREFIX ?= /usr/local
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
B := build/$(MODE)
# What the compiler makes programs for: "x86_64", "aarch64", ..
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))

ROOMS := base kernels autograd ops nn optim tasks probe run report ablate cli
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wconversion -Wno-sign-conversion -Wno-psabi
# -ffp-contract=fast: one fused multiply-add where the processor has it; the same in every run.
COMMON := -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc $(WARN) -ffp-contract=fast -fno-math-errno -fno-trapping-math
SANITIZE := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DRDK_DEBUG
FLAGS_release := -O3
FLAGS_double := -O2 -DRDK_DOUBLE
FLAGS_asan := $(SANITIZE)
FLAGS_asan-double := $(SANITIZE) -DRDK_DOUBLE
FLAGS_tsan := -O1 -g -fsanitize=thread
FLAGS_portable := -O2
# For an emulator, which then needs to find no libraries.
FLAGS_neon := -O3 -static
FLAGS_neon-double := -O2 -static -DRDK_DOUBLE
ifeq ($(FLAGS_$(MODE)),)
  $(error no MODE=$(MODE): release, double, asan, asan-double, tsan, portable, neon or neon-double)
endif
ifeq ($(MODE),portable)
  OPENMP := 0
  ISAS := base
else ifneq ($(filter x86_64 amd64,$(ARCH)),)
  ISAS := base avx2 avx512
else ifneq ($(filter aarch64% arm64%,$(ARCH)),)
  ISAS := neon
else
  ISAS := base
endif
ISA_base := -DRDK_VECTOR_BYTES=16
ISA_neon := -DRDK_VECTOR_BYTES=16
ISA_avx2 := -DRDK_VECTOR_BYTES=32 -mavx2 -mfma
ISA_avx512 := -DRDK_VECTOR_BYTES=64 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mavx2 -mfma -mprefer-vector-width=512
ISA_avx512bf16 := $(ISA_avx512) -mavx512bf16

# Targets that only start others, and so need nothing probed. `make deps test` runs them in order,
# also under -j.
ORDERS := help test asan tsan neon portable lint format clean deps uninstall
ifneq ($(filter deps,$(MAKECMDGOALS)),)
  all program library test-programs test asan tsan install: deps
endif

# What the compiler can do, found once for each and kept: OpenMP is used where it compiles and links,
# products of bfloat16 by instructions where it knows them.
EMPTY :=
PROBE := $(B)/probe-$(subst /,_,$(subst $(EMPTY) ,_,$(strip $(CC) $(OPENMP)))).mk
ifneq ($(filter-out $(ORDERS),$(or $(MAKECMDGOALS),all)),)
  -include $(PROBE)
endif
ifneq ($(filter avx512,$(ISAS)),)
  ISAS += $(PROBED_ISAS)
endif
CFLAGS_ALL = $(COMMON) $(FLAGS_$(MODE)) $(OPENMP_FLAGS) $(ISAS:%=-DRDK_HAS_%) $(CFLAGS)
LINK_FLAGS = $(FLAGS_$(MODE)) $(OPENMP_FLAGS) $(CFLAGS) $(LDFLAGS)

# src/kernels/isa.c includes the other kernels and is compiled once per instruction set.
KERNELS := $(ISAS:%=$(B)/kernels/isa_%.o) $(B)/kernels/select.o
SOURCES := $(foreach r,$(filter-out kernels cli,$(ROOMS)),$(wildcard src/$(r)/*.c))
LIB_OBJECTS := $(SOURCES:src/%.c=$(B)/%.o) $(KERNELS)
CLI_OBJECTS := $(patsubst src/%.c,$(B)/%.o,$(wildcard src/cli/*.c))
LIB := $(B)/librootdk.a
ifeq ($(MODE),release)
  PROGRAM := build/rootdk
else
  PROGRAM := $(B)/rootdk
endif

# `make -s` is silent, `make` says which file it is at, `make V=1` shows the commands.
Q := $(if $(V),,@)
SAY = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-4s %s\n')
TEMP = $@.$$$$.tmp
DEPEND = $(@:.o=.d)

# $(1): further flags. Object and dependencies appear together, whole, or not at all.
define COMPILE
@$(SAY) cc $@
$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS_ALL) $(1) -MMD -MP -MT $@ -MF $(DEPEND).$$$$.tmp -c -o $(TEMP) $< && \
	mv $(DEPEND).$$$$.tmp $(DEPEND) && mv $(TEMP) $@ || { rm -f $(DEPEND).$$$$.tmp $(TEMP); exit 1; }
endef
# $(1): what to link.
define LINK
@$(SAY) ld $@
$(Q)mkdir -p $(@D) && $(CC) -o $(TEMP) $(1) -lm && mv $(TEMP) $@ || { rm -f $(TEMP); exit 1; }
endef

.PHONY: all
all: $(PROGRAM) ## build the program and the library (the default)
	@echo "built $(PROGRAM); next: ./train --scale sqrt    (make help: all targets)"

.PHONY: program library
program: $(PROGRAM) ## the program only: build/rootdk
library: $(LIB) ## the library only: build/MODE/librootdk.a

$(PROGRAM): $(CLI_OBJECTS) $(LIB)
	$(call LINK,$(CLI_OBJECTS) $(LIB) $(LINK_FLAGS))

$(LIB): $(LIB_OBJECTS)
	@$(SAY) ar $@
	$(Q)mkdir -p $(@D) && rm -f $(TEMP) && $(AR) rcs $(TEMP) $^ && mv $(TEMP) $@ || { rm -f $(TEMP); exit 1; }

$(B)/%.o: src/%.c $(B)/flags
	$(call COMPILE,)

$(B)/kernels/isa_%.o: src/kernels/isa.c $(B)/flags
	$(call COMPILE,$(ISA_$*) -DRDK_ISA_NAME=$* -DRDK_ISA_TABLE=rdk_kernels_$*)

# The table of this one is in avx512's object; here are its products of bfloat16.
$(B)/kernels/isa_avx512bf16.o: src/kernels/isa_bf16.c $(B)/flags
	$(call COMPILE,$(ISA_avx512bf16))

$(B)/base/build.o: src/base/build.c $(B)/build_id.h $(B)/flags
	$(call COMPILE,-I$(B))

# The style and the script of a report, a string a line.
PAGE_PARTS := $(B)/page_css.h $(B)/page_draw_js.h $(B)/page_read_js.h
$(B)/report/page.o: src/report/page.c $(PAGE_PARTS) $(B)/flags
	$(call COMPILE,-I$(B))
$(B)/%_js.h: src/report/%.js
	$(QUOTE_LINES)
$(B)/%_css.h: src/report/%.css
	$(QUOTE_LINES)
QUOTE_LINES = @mkdir -p $(@D) && sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n",/' $< > $(TEMP) && mv $(TEMP) $@

# Written anew only where the content differs, so that nothing is rebuilt for nothing.
WRITE_IF_NEW = @mkdir -p $(@D) && printf '%s\n' $(1) > $(TEMP) && \
	if cmp -s $(TEMP) $@; then rm -f $(TEMP); else mv $(TEMP) $@; fi
BUILD_ID = $$(test -e .git && git describe --always --dirty=+ --exclude '*' 2>/dev/null || echo unknown)
.PHONY: always
$(B)/flags: always
	$(call WRITE_IF_NEW,'$(CC) $(subst ','\'',$(CFLAGS_ALL) $(LDFLAGS))')
$(B)/build_id.h: always
	$(call WRITE_IF_NEW,"#define RDK_BUILD_ID \"$(BUILD_ID)\"")

$(B)/probe-%.mk: Makefile
	@mkdir -p $(@D) && printf '%s\n' '#ifdef BF16' '#include <immintrin.h>' \
		'__m512 sum(__m512 x, __m512bh y);' \
		'__m512 sum(__m512 x, __m512bh y) { return _mm512_dpbf16_ps(x, y, y); }' \
		'int main(void) { return __builtin_cpu_supports("avx512bf16"); }' \
		'#else' 'int main(void) { return 0; }' '#endif' > $(TEMP).c && \
	{ if [ "$(OPENMP)" = 1 ] && $(CC) -fopenmp -o $(TEMP).out $(TEMP).c 2>/dev/null; \
	then echo 'OPENMP_FLAGS := -fopenmp'; else echo 'OPENMP_FLAGS :='; fi; \
	if $(CC) $(ISA_avx512bf16) -DBF16 -o $(TEMP).out $(TEMP).c 2>/dev/null; \
	then echo 'PROBED_ISAS := avx512bf16'; else echo 'PROBED_ISAS :='; fi; } > $(TEMP) && \
	rm -f $(TEMP).c $(TEMP).out && mv $(TEMP) $@

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d)

# ---- tests --------------------------------------------------------------------------------------
# Each tests/KIND/test_X.c is a program of its own: unit and cli against the float library, double
# (gradient checks) against the one in double precision.

TEST_SOURCES := $(wildcard tests/unit/test_*.c tests/cli/test_*.c)
ifneq ($(findstring double,$(MODE)),)
  TEST_SOURCES := $(wildcard tests/double/test_*.c)
endif
TESTS := $(TEST_SOURCES:tests/%.c=$(B)/tests/%)
CHECK_FLAGS = $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS = $(shell pkg-config --libs check 2>/dev/null || echo -lcheck)
# A make of its own: of another mode, and parallel also where nobody asked for it.
SUBMAKE = $(MAKE) -s $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(JOBS))
NEEDS_CHECK = @printf '\#include <check.h>\n' | $(CC) $(CHECK_FLAGS) -E - >/dev/null 2>&1 || \
	{ echo "the tests need Check, which this compiler does not find (make deps installs it)" >&2; exit 1; }

.PHONY: test-programs test deps asan tsan neon portable
test-programs: $(TESTS) $(PROGRAM)
$(B)/tests/%: tests/%.c $(LIB) $(wildcard tests/*.h tests/*/*.h)
	$(call LINK,$(filter-out -Wconversion,$(CFLAGS_ALL)) $(CHECK_FLAGS) -Itests $< $(LIB) $(LINK_FLAGS) $(CHECK_LIBS))

test: ## build and run all tests (they need Check: make deps test)
	$(NEEDS_CHECK)
	@$(SUBMAKE) MODE=release test-programs
	@$(SUBMAKE) MODE=double test-programs
	@tests/run.sh build/release/tests/unit build/double/tests/double build/release/tests/cli

asan: ## the tests under address and undefined-behaviour sanitizers
	$(NEEDS_CHECK)
	@$(SUBMAKE) MODE=asan test-programs
	@$(SUBMAKE) MODE=asan-double test-programs
	@ASAN_OPTIONS=allocator_may_return_null=1 RDK_PROGRAM="$(CURDIR)/build/asan/rootdk" tests/run.sh \
		build/asan/tests/unit build/asan-double/tests/double build/asan/tests/cli

tsan: ## kernels and training steps under the thread sanitizer (clang and its OpenMP)
	@MAKE='$(SUBMAKE)' tests/tsan.sh

neon: ## build for aarch64 and run the kernel tests there (needs a cross compiler and qemu-user)
	@MAKE='$(SUBMAKE)' tests/neon.sh

portable: ## no OpenMP, base instruction set: build/portable/rootdk
	@$(SUBMAKE) MODE=portable program

deps: ## install what the tests need: Check and pkg-config
	@scripts/deps.sh test

# ---- examples -----------------------------------------------------------------------------------
# They see the public headers and the library, as a program outside this tree does.

EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c))
.PHONY: examples example-programs
example-programs: $(EXAMPLES)
test-programs: $(EXAMPLES)
$(B)/examples/%: examples/%.c $(LIB)
	$(call LINK,$(filter-out -Isrc,$(CFLAGS_ALL)) $< $(LIB) $(LINK_FLAGS))

examples: $(EXAMPLES) ## build and run the programs of docs/embedding.md
	@for program in $(EXAMPLES); do echo "== $$program"; $$program || exit 1; done

# ---- speed --------------------------------------------------------------------------------------
# The limits of the machine are measured by what its compiler can make of it; all else is the library.

BENCHES := $(patsubst %.c,$(B)/%,$(wildcard bench/*.c))
.PHONY: bench bench-programs
bench-programs: $(BENCHES)
$(B)/bench/peak $(B)/bench/kernels: NATIVE = -march=native
$(B)/bench/%: bench/%.c $(wildcard bench/*.h) $(LIB)
	$(call LINK,$(CFLAGS_ALL) $(NATIVE) $< $(LIB) $(LINK_FLAGS))

bench: program bench-programs ## measure steps, kernels, probing, scaling beside the machine's limits (minutes)
	@bench/all.sh $(PARTS)

# ---- longer checks --------------------------------------------------------------------------------

.PHONY: reference science science-long recipes browser exhaustive
# Its library is the one of the tests; it needs no Check. STRIDE=1009 tries every 1009th float.
EXHAUSTIVE := $(B)/tests/exhaustive/functions
$(EXHAUSTIVE): tests/exhaustive/functions.c tests/float_functions.h $(LIB)
	$(call LINK,$(filter-out -Wconversion,$(CFLAGS_ALL)) -Itests $< $(LIB) $(LINK_FLAGS))

exhaustive: $(EXHAUSTIVE) ## exp, tanh, erf and GELU of every float, on every instruction set (minutes)
	@$(EXHAUSTIVE) $(STRIDE)

browser: program ## read a report in a headless Chromium (needs chromium and node; else skipped)
	@tests/browser/report.sh

recipes: ## apply the examples of docs/recipes.md to a copy of the tree, and test that
	@MAKE='$(MAKE)' tests/recipes.sh

reference: program ## train published configurations and compare (minutes; RDK_SHAKESPEARE=FILE: also the text)
	@tests/reference/start.sh && tests/reference/random.sh && tests/reference/sort.sh && tests/reference/text.sh

# Both begin anew: what an older program measured is no check of this one.
FAST := variance-by-dk gradient-anatomy heads-at-fixed-width lr-window four-scalings \
	entropy-against-loss init-matters plateau-at-1024 additive
LONG := bf16 logit-growth kappa
# $(1): names; $(2): arguments. All are run, also after one that failed.
EXPERIMENTS = @status=0; for name in $(1); do echo "== $$name"; ablations/$$name.sh $(2) || status=1; done; exit $$status

science: program ## the experiments of ablations/, their claims checked (under 15 minutes on two cores)
	@rm -rf runs/science
	$(call EXPERIMENTS,$(FAST),)

science-long: program ## bfloat16, and those on text (minutes more; TEXT=FILE: another text)
	@rm -rf runs/science/bf16* runs/science/*-growth-* runs/science/kappa-*
	$(call EXPERIMENTS,$(LONG),$(TEXT))

# ---- care ---------------------------------------------------------------------------------------

.PHONY: lint format help clean install uninstall
lint: ## formatter, both compilers, clang-tidy, cppcheck, shellcheck, the floors of src/
	@scripts/lint.sh

format: ## lay out all C files as .clang-format says
	@clang-format -i $(wildcard include/rootdk/*.h src/*/*.[ch] examples/*.c bench/*.[ch] tests/*.h tests/*/*.[ch])

# One slash between the parts, none at the end. What is said names the place where it will be; a
# DESTDIR is a stage on the way there. The command is short where the shell finds it.
TIDY = $(shell printf '%s' '$(1)' | sed 's|//*|/|g; s|\(.\)/$$|\1|')
PLACE = $(call TIDY,$(PREFIX))
INSTALL_TO = $(call TIDY,$(DESTDIR)$(PREFIX))
INSTALLED = $(if $(DESTDIR),staged in $(call TIDY,$(DESTDIR)) for $(PLACE),installed in $(PLACE); next: $(NEXT) --scale sqrt)
NEXT = $(if $(filter $(PLACE)/bin,$(subst :, ,$(PATH))),rootdk,$(PLACE)/bin/rootdk)
install: $(PROGRAM) $(LIB) ## program, library, headers, man page into PREFIX (/usr/local)
	@mkdir -p "$(INSTALL_TO)/bin" "$(INSTALL_TO)/lib/pkgconfig" "$(INSTALL_TO)/include/rootdk" "$(INSTALL_TO)/share/man/man1"
	@install -m 755 $(PROGRAM) "$(INSTALL_TO)/bin/rootdk"
	@install -m 644 $(LIB) "$(INSTALL_TO)/lib/librootdk.a"
	@install -m 644 include/rootdk/*.h "$(INSTALL_TO)/include/rootdk/"
	@$(PROGRAM) --man > "$(INSTALL_TO)/share/man/man1/rootdk.1"
	@printf '%s\n' 'prefix=$(PLACE)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
		'Name: rootdk' 'Description: minimal Transformer training with a tape-based autograd engine' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}$(if $(findstring -DRDK_DOUBLE,$(FLAGS_$(MODE))), -DRDK_DOUBLE)' \
		'Libs: -L$${libdir} -lrootdk $(OPENMP_FLAGS) -lm' > "$(INSTALL_TO)/lib/pkgconfig/rootdk.pc"
	@echo "rootdk $(VERSION) $(INSTALLED)"

uninstall: ## take away what install put there
	@rm -f "$(INSTALL_TO)/bin/rootdk" "$(INSTALL_TO)/lib/librootdk.a" \
		"$(INSTALL_TO)/lib/pkgconfig/rootdk.pc" "$(INSTALL_TO)/share/man/man1/rootdk.1"
	@rm -rf "$(INSTALL_TO)/include/rootdk"
VERSION = $(shell sed -n 's/^ *return "\([0-9.]*\)";/\1/p' src/base/build.c)

clean: ## take away all that was built
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  MODE=$(MODE)  release, double, asan, asan-double, tsan, portable, neon, neon-double: a folder each in build/"
	@echo "  CC=$(CC)  OPENMP=$(OPENMP)  CFLAGS=$(CFLAGS)  LDFLAGS=$(LDFLAGS)  PREFIX=$(PREFIX)  V=$(V) (1: show commands)"
