#include <imbrex/generator.hpp> // and no kernel
