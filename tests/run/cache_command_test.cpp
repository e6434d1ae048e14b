#include "runtime/disk_cache.h"
#include "tests/run/shell.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

TEST_CASE("cache lists, checks and clears what is kept") {
  std::string folder = (std::filesystem::temp_directory_path() / "imbrex-cache-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string in = "IMBREX_CACHE_DIR=" + folder + "; export IMBREX_CACHE_DIR; imbrex cache ";
  CHECK(shell(in).output == "0 entries of 0 bytes in " + folder + "\n");
  std::string problem;
  const auto cache = imbrex::runtime::DiskCache::open(folder, 1 << 20, problem);
  REQUIRE(cache);
  cache->keep("kernel softmax\ntarget sm_90a\n", "code");
  cache->keep("kernel gemm\ntarget other\n", "other code");
  const timespec longAgo[2]{{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  for (const auto &entry : cache->entries())
    if (entry.key.starts_with("kernel softmax"))
      utimensat(AT_FDCWD, (folder + "/" + entry.file).c_str(), longAgo, 0);
  const Outcome listed = shell("imbrex cache list --dir=" + folder);
  CHECK(listed.status == 0);
  CHECK(contains(listed.output, "  softmax for sm_90a\n"));
  CHECK(contains(listed.output, "  gemm for other\n"));
  CHECK(listed.output.find("softmax") < listed.output.find("gemm")); // used longer ago
  CHECK(contains(listed.output, "2 entries of "));
  CHECK(shell(in + "verify").output == "2 of 2 entries are as they were written\n");

  const std::string file = cache->entries().at(0).file;
  std::filesystem::resize_file(folder + "/" + file, 20);
  CHECK(contains(shell(in + "list").output, "  damaged: code-"));
  const Outcome checked = shell(in + "verify");
  CHECK(checked.status == 1);
  CHECK(checked.output ==
        "damaged: " + folder + "/" + file + "\n1 of 2 entries are as they were written\n");
  CHECK(shell(in + "clear").output == "2 entries taken away from " + folder + "\n");
  CHECK(shell(in + "list").output == "0 entries of 0 bytes in " + folder + "\n");

  const Outcome wrong = shell(in + "frob");
  CHECK(wrong.status == 2);
  CHECK(wrong.output == "imbrex: error: 'frob' is nothing that can be done with compiled code\n"
                        "  hint: it can be listed, checked and cleared: list, verify, clear\n");
  const Outcome absent = shell("imbrex cache list --dir=" + folder + "/absent");
  CHECK(absent.status == 2);
  CHECK(contains(absent.output, "/absent' can't be opened: No such file or directory"));
  CHECK_FALSE(std::filesystem::exists(folder + "/absent"));
  const Outcome toCome = shell("IMBREX_CACHE_DIR=" + folder + "/absent imbrex cache");
  CHECK(toCome.status == 0);
  CHECK(toCome.output == "0 entries of 0 bytes in " + folder + "/absent\n");
  CHECK_FALSE(std::filesystem::exists(folder + "/absent"));
  const Outcome off = shell("IMBREX_CACHE_DIR=off; export IMBREX_CACHE_DIR; imbrex cache");
  CHECK(off.status == 2);
  CHECK(contains(off.output, "there is no folder of compiled code: IMBREX_CACHE_DIR is off"));
  std::filesystem::remove_all(folder);
}
