#include "backend/lower/vocabulary.h"

#include "backend/support/check.h"

namespace imbrex::lower {

void Vocabulary::lacks(std::string_view what) const {
  IMBREX_UNREACHABLE("{0} {1}", machine().name, what);
}

} // namespace imbrex::lower
