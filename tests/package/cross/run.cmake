# cmake -Dsource=DIR -Dbuild=DIR -Dgenerators=DIR -Dprocessor=aarch64 -Dcompiler=PREFIX -Demulator=PROGRAM -Droot=DIR … -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${build})
string(REPLACE "|" "\\;" launcher "${launcher}")
set(machine -G ${generator} -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=${processor} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=${compiler}gcc -DCMAKE_CXX_COMPILER=${compiler}g++)
run(${CMAKE_COMMAND} -S ${source} -B ${build}/imbrex ${machine} "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}" -DIMBREX_ONLY_AOT=ON -DCMAKE_UNITY_BUILD=${unity}
  -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
run(${CMAKE_COMMAND} --build ${build}/imbrex -j 2)
run(${CMAKE_COMMAND} --install ${build}/imbrex --prefix ${build}/installed)
file(RENAME ${build}/installed ${build}/moved)
run(${CMAKE_COMMAND} -S ${source}/tests/package/cross -B ${build}/consumer ${machine} -Dimbrex_ROOT=${build}/moved
  -DGENERATORS=${generators} -DSOURCES=${source}/tests/package/aot)
run(${CMAKE_COMMAND} --build ${build}/consumer -j 2)
run(${CMAKE_COMMAND} -E env IMBREX_CUDA_DRIVER=/nowhere IMBREX_HIP_DRIVER=/nowhere IMBREX_LOG=load:info
  ${emulator} -L ${root} ${build}/consumer/consumer)
file(REMOVE_RECURSE ${build})
