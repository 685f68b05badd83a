/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the plugin interface of QEMU 7.2 and later that is used here
 *
 * Debian packages no header for plugins. These declarations cover the common part of
 * versions 1 to 4 of the interface, and their differences: QEMU 7.2 accepts only plugins
 * for version 1, and QEMU 9.0 and later do not accept those. The symbols at the end are
 * not part of the interface: if an emulator lacks them, the features that need them are
 * disabled.
 */
#ifndef FHOOK_QEMU_PLUGIN_H
#define FHOOK_QEMU_PLUGIN_H

#include <stdint.h>
#include "lib/base.h"

#define QEMU_PLUGIN_OLD		1
#define QEMU_PLUGIN_NEW		2
/* From this version on, the bytes of an instruction are copied. */
#define QEMU_PLUGIN_COPIES	3
#define QEMU_EXPORT	__attribute__((visibility("default")))
#define QEMU_WEAK	__attribute__((weak))

struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_plugin_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

enum qemu_plugin_registers {
	QEMU_PLUGIN_NO_REGISTERS,
};

enum qemu_plugin_access {
	QEMU_PLUGIN_READS = 1,
};

void qemu_plugin_register_vcpu_exit_cb(uint64_t id,
				       void (*callback)(uint64_t id, unsigned int vcpu));
void qemu_plugin_register_flush_cb(uint64_t id, void (*callback)(uint64_t id));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t id, void *data),
				    void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*callback)(uint64_t id,
							    struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*callback)(unsigned int vcpu, void *data),
					  enum qemu_plugin_registers flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*callback)(unsigned int vcpu, void *data),
					    enum qemu_plugin_registers flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*callback)(unsigned int vcpu, uint32_t info,
						       uint64_t address, void *data),
				      enum qemu_plugin_registers flags,
				      enum qemu_plugin_access access, void *data);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id,
					  void (*callback)(uint64_t id, unsigned int vcpu,
							   int64_t number, uint64_t a1,
							   uint64_t a2, uint64_t a3, uint64_t a4,
							   uint64_t a5, uint64_t a6, uint64_t a7,
							   uint64_t a8));
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t id,
					      void (*callback)(uint64_t id, unsigned int vcpu,
							       int64_t number, int64_t result));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* Before QEMU_PLUGIN_COPIES, has one argument and returns the address of the bytes. */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t size);
void qemu_plugin_outs(const char *string);

/* Since QEMU_PLUGIN_NEW. */
QEMU_WEAK int qemu_plugin_num_vcpus(void);

/* A symbol of the emulator itself. */
extern QEMU_WEAK uintptr_t guest_base;
QEMU_WEAK void *qemu_get_cpu(int index);
QEMU_WEAK int cpu_memory_rw_debug(void *cpu, uint64_t address, void *data, size_t size,
				  bool write);
QEMU_WEAK void tb_flush(void *cpu);
QEMU_WEAK void async_safe_run_on_cpu(void *cpu, void (*function)(void *cpu, uintptr_t data),
				     uintptr_t data);

#endif /* FHOOK_QEMU_PLUGIN_H */
