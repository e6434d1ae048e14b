#pragma once

namespace imbrex {

/// Whether the process may use AMX's tiles, if the processor has them. Linux wants to be asked,
/// once for all threads and what they fork: their state is 8 KiB more of each thread's
/// (arch_prctl(2), ARCH_REQ_XCOMP_PERM; Linux 5.16). It refuses where a thread has a stack for
/// signals that has no room for that.
bool mayUseAmx();

} // namespace imbrex
