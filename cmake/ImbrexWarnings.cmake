# imbrex_warnings(<target>): our warning set, for our own targets only; nothing of it is exported.
#
# g++ leaves sign conversions out of -Wconversion and clang does not: we follow g++. clang reports
# libstdc++ 12's own use of a deprecated function in std::stable_sort as if it were ours. g++ 12 at -O3
# sees overlapping copies in std::string's operator+ where there are none (GCC bug 105651).
function(imbrex_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Wswitch-enum
    -Wnon-virtual-dtor -Wold-style-cast
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${IMBREX_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()
