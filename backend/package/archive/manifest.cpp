#include "backend/launch_json.h"
#include "backend/package/archive/headers.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace imbrex::archive {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The part of it that says how arguments are passed and what is assumed of them.
lower::KernelInterface interfaceOf(const LibraryKernel &of, const LibraryCode &code) {
  lower::KernelInterface interface{.name = code.gpu.symbol, .words = code.gpu.words};
  for (std::size_t i = 0; i < of.kernel.parameterCount(); ++i)
    interface.parameters.push_back(of.kernel.parameterName(i));
  interface.maps = code.gpu.maps;
  return interface;
}

Object asJson(const LibraryKernel &of, const LibraryCode &code) {
  const lower::KernelInterface interface = interfaceOf(of, code);
  Object object{{"target", toText(code.target)},
                {"assumptions", assumptionsAsJson(code.assumptions, {}, interface)}};
  if (code.target.isHost()) {
    object["bytes"] = static_cast<std::int64_t>(code.host.object->getBufferSize());
    object["scratch_bytes"] = code.host.scratchBytes;
    return object;
  }
  object["bytes"] = static_cast<std::int64_t>(code.gpu.image.size());
  object["threads"] = code.gpu.threads;
  object["shared_memory_bytes"] = code.gpu.sharedMemoryBytes;
  object["arguments"] = argumentsAsJson(interface);
  object["launch"] = launchAsJson(of.kernel.attributes());
  if (!code.gpu.resources) return object;
  object["registers"] = code.gpu.resources->registers;
  object["spilled_bytes"] = code.gpu.resources->spilledBytes;
  return object;
}

Object asJson(const LibraryKernel &of, const TuningRule &row) {
  Array targets;
  for (const LibraryTarget &target : row.targets) targets.push_back(toText(target));
  Object where;
  for (const TunedRange &range : row.ranges) {
    const auto bound = [](std::int64_t value, std::int64_t none) {
      return value == none ? llvm::json::Value(nullptr) : llvm::json::Value(value);
    };
    using Limits = std::numeric_limits<std::int64_t>;
    where[range.of.name] =
        Array{bound(range.least, Limits::min()), bound(range.most, Limits::max())};
  }
  return Object{{"targets", std::move(targets)},
                {"where", std::move(where)},
                {"config", of.configs[row.config].config}};
}

Object asJson(const Library &library, const LibraryKernel &of) {
  Array parameters, codes, requirements;
  for (std::size_t i = 0; i < of.kernel.parameterCount(); ++i)
    parameters.push_back(Object{{"name", of.kernel.parameterName(i)},
                                {"type", ir::toString(of.kernel.parameterType(i))}});
  for (const LibraryCode &code : of.codes) codes.push_back(asJson(of, code));
  for (const analysis::Requirement &one : analysis::launchRequirements(of.kernel))
    requirements.push_back(Object{{"condition", one.condition}, {"text", one.text}});
  Object object{{"name", of.name},
                {"symbol", library.symbolOf(of)},
                {"parameters", std::move(parameters)},
                {"required", std::move(requirements)},
                {"codes", std::move(codes)}};
  if (!of.config.empty()) object["config"] = of.config;
  if (of.tuned.empty()) return object;
  Array configs, tuned;
  for (const LibraryKernel &config : of.configs)
    if (!config.targets.empty()) configs.push_back(asJson(library, config));
  for (const TuningRule &row : of.tuned) tuned.push_back(asJson(of, row));
  object["configs"] = std::move(configs);
  object["tuned"] = std::move(tuned);
  return object;
}

} // namespace

std::string manifest(const Library &library) {
  Array kernels;
  for (const LibraryKernel &of : library.kernels) kernels.push_back(asJson(library, of));
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 2);
  json.value(Object{{"library", library.name},
                    {"processor", library.triple.str()},
                    {"kernels", std::move(kernels)}});
  return text + "\n";
}

} // namespace imbrex::archive
