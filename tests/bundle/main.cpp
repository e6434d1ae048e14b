// One program of many parts: `imbrex-bundle PART …`, or PART as a link to it.

#include <cstdio>
#include <string>
#include <string_view>

// A part's main takes the command line or it does not; the other form is null.
#define IMBREX_PART(name, function)                                                                \
  [[gnu::weak]] int function();                                                                    \
  [[gnu::weak]] int function(int count, char **words);
#include "parts.def"
#undef IMBREX_PART

namespace {

struct Part {
  std::string_view name;
  int (*plain)();
  int (*withWords)(int, char **);
};

constexpr Part kParts[]{
#define IMBREX_PART(name, function) {name, function, function},
#include "parts.def"
#undef IMBREX_PART
};

const Part *find(std::string_view name) {
  for (const Part &part : kParts)
    if (part.name == name) return &part;
  return nullptr;
}

} // namespace

int main(int count, char **words) {
  const std::string_view path = words[0];
  const Part *part = find(path.substr(path.rfind('/') + 1));
  if (part == nullptr && count > 1) {
    part = find(words[1]);
    --count;
    ++words;
  }
  if (part != nullptr)
    return part->withWords != nullptr ? part->withWords(count, words) : part->plain();
  std::fputs("usage: imbrex-bundle PART …; the parts are", stderr);
  for (const Part &known : kParts) std::fprintf(stderr, " %s", std::string(known.name).c_str());
  std::fputs("\n", stderr);
  return 2;
}
