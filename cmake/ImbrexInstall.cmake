# find_package(imbrex) from an installed prefix, which may be moved: every path in it is relative.
include(CMakePackageConfigHelpers)

set(imbrex_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/imbrex)
set(sets imbrexAotTargets)
if(NOT IMBREX_ONLY_AOT)
  list(APPEND sets imbrexTargets)
  imbrex_export(imbrex_llvm llvm)
  if(IMBREX_ENABLE_AMDGPU)
    imbrex_export(imbrex_lld lld)
  endif()
endif()
foreach(set IN LISTS sets)
  install(EXPORT ${set} NAMESPACE imbrex:: DESTINATION ${imbrex_package_dir})
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/imbrexConfig.cmake.in
  ${PROJECT_BINARY_DIR}/imbrexConfig.cmake INSTALL_DESTINATION ${imbrex_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/imbrexConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/imbrexConfig.cmake ${PROJECT_BINARY_DIR}/imbrexConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/ImbrexCompiler.cmake ${PROJECT_SOURCE_DIR}/cmake/ImbrexKernels.cmake
        DESTINATION ${imbrex_package_dir})
