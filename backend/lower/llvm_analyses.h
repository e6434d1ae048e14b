#pragma once

#include "llvm/Passes/PassBuilder.h"

namespace imbrex::lower {

/// The analyses of LLVM that passes may ask for, each level of which knows the others.
struct LlvmAnalyses {
  explicit LlvmAnalyses(llvm::PassBuilder &builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(callGraph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, callGraph, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
};

} // namespace imbrex::lower
