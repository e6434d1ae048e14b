#if __has_include(<imbrex/imbrex.hpp>)
#include <imbrex/imbrex.hpp>
#endif

int main() {}
