#include "backend/target/amdgpu/linker.h"

#include "backend/target/codegen/code_generator.h"
#include "backend/target/codegen/temporary_file.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <mutex>
#include <thread>

LLD_HAS_DRIVER(elf)

namespace imbrex::target::amdgpu {

Result<ObjectCode> link(llvm::StringRef object, const machine::Machine &machine) {
  const auto input = TemporaryFile::make("o", object);
  const auto output = TemporaryFile::make("hsaco");
  if (!input) return input.failure();
  if (!output) return output.failure();
  // One thread: the linker's pool would cost more than the work.
  const std::array<const char *, 7> arguments{"ld.lld",
                                              "-shared",
                                              "--no-undefined",
                                              "--threads=1",
                                              "-o",
                                              output->path().c_str(),
                                              input->path().c_str()};
  std::string said;
  llvm::raw_string_ostream stream(said);
  const std::lock_guard lock(llvmOptions());
  // lld keeps memory of each thread with the thread's own objects: where one of those compiles in
  // its destructor, that of an earlier link is gone. A thread of the link's own has none before.
  lld::Result result{};
  std::thread([&] {
    result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  }).join();
  if (result.retCode != 0) return fail(Diag::CodeRefused, {}, "lld", machine.name, said);
  return ObjectCode{.image = output->read()};
}

} // namespace imbrex::target::amdgpu
