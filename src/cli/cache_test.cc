#include "cache/cache.h"

#include <fcntl.h>
#include <unistd.h>

#include "cache/cache_test_support.h"
#include "cli/cli_test_support.h"

namespace forebay {
namespace {

class CacheVerb : public testing::Test {
 protected:
  std::shared_ptr<TieredCache> filled(uint64_t place, uint64_t entries) {
    CacheOptions options;
    options.disk_bytes = 16 << 20;
    options.dir = dir();
    options.cache_id = id_of(place);
    options.description = "images(root=\"photos\")\n  .decode_image()";
    auto cache = open_cache(options);
    EXPECT_TRUE(cache.ok()) << cache.status().to_string();
    for (uint64_t i = 0; i < entries; ++i) (*cache)->put(id_of(i), shared_columns(i, 50), 0.01);
    return *cache;
  }
  /// Runs the verb and returns the exit code. The output is in out_ and err_.
  int run(Arguments arguments) {
    arguments.insert(arguments.end(), {"--dir", dir()});
    arguments.insert(arguments.begin(), "cache");
    const cli_test::Ended ended = cli_test::forebay(arguments);
    out_ = ended.out, err_ = ended.err;
    return ended.code;
  }
  SortedJson json(Arguments arguments, int code = kDone) {
    arguments.push_back("--json");
    EXPECT_EQ(run(arguments), code) << out_ << err_;
    return SortedJson::parse(out_);
  }
  std::string dir() const { return folder_.path("caches"); }
  static std::string name_of(uint64_t place) { return id_of(place).to_string(); }

  std::string out_, err_;

 private:
  ScratchFolder folder_;
};

TEST_F(CacheVerb, AFolderThatIsNotThereHoldsNothing) {
  EXPECT_TRUE(json({"ls"})["places"].empty());
  EXPECT_EQ(json({"verify"})["entries"], 0);
  EXPECT_FALSE(std::filesystem::exists(dir())) << "looking makes nothing";
}

TEST_F(CacheVerb, ShowsWhatIsKeptForWhichStepsAndByWhom) {
  filled(1, 5).reset();
  const auto used = filled(2, 3);
  const SortedJson places = json({"ls"})["places"];
  ASSERT_EQ(places.size(), 2u);
  for (const auto& place : places) {
    const bool first = place["place"] == name_of(1);
    EXPECT_EQ(place["entries"], first ? 5 : 3);
    EXPECT_EQ(place["in_use"], !first);
    EXPECT_EQ(place["processes"], first ? SortedJson::array() : SortedJson::array({::getpid()}));
    EXPECT_EQ(place["steps"], "images(root=\"photos\")\n  .decode_image()");
  }
  EXPECT_EQ(run({"ls"}), kDone);
  EXPECT_NE(out_.find("    images(root=\"photos\")\n      .decode_image()\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find(": 2 caches, "), std::string::npos) << out_;
}

TEST_F(CacheVerb, FindsDamageAndSaysWhere) {
  filled(1, 20).reset();
  EXPECT_EQ(run({"verify"}), kDone);
  std::fstream file(dir() + "/" + name_of(1) + "/000000.data", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(1000);
  file.put('\x7f');
  file.close();
  const SortedJson report = json({"verify"}, kFailed);
  EXPECT_EQ(report["entries"], 20);
  ASSERT_EQ(report["damaged_count"], 1);
  EXPECT_EQ(report["damaged"][0]["place"], name_of(1));
  EXPECT_EQ(run({"verify", name_of(1).substr(0, 8)}), kFailed);
  EXPECT_NE(out_.find("damaged (checksum)"), std::string::npos) << out_;
}

TEST_F(CacheVerb, RemovesWhatIsNamedAndNothingThatIsInUse) {
  filled(1, 5).reset();
  const auto used = filled(2, 3);
  EXPECT_EQ(run({"clear", name_of(2)}), kFailed);
  EXPECT_NE(err_.find("in use by process " + std::to_string(::getpid())), std::string::npos) << err_;
  const SortedJson cleared = json({"clear", name_of(1).substr(0, 6)});
  EXPECT_EQ(cleared["removed"], SortedJson::array({name_of(1)}));
  EXPECT_EQ(json({"ls"})["places"].size(), 1u);
}

TEST_F(CacheVerb, RemovesAllOrWhatIsOld) {
  filled(1, 5).reset();
  filled(2, 5).reset();
  EXPECT_TRUE(json({"clear", "--older-than", "1"})["removed"].empty());
  struct ::timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ::utimensat(AT_FDCWD, (dir() + "/" + name_of(1) + "/lock").c_str(), old, 0);
  EXPECT_EQ(json({"clear", "--older-than", "1"})["removed"], SortedJson::array({name_of(1)}));
  EXPECT_EQ(json({"clear", "--all"})["removed"], SortedJson::array({name_of(2)}));
}

TEST_F(CacheVerb, MisuseIsToldApartFromFailure) {
  EXPECT_EQ(run({"clear"}), kMisuse);
  EXPECT_EQ(run({"clear", "--all", "3f"}), kMisuse);
  EXPECT_EQ(run({"ls", "--all"}), kMisuse);
  EXPECT_EQ(run({"wash"}), kMisuse);
  EXPECT_EQ(run({}), kMisuse);
  EXPECT_EQ(run({"verify", "zz"}), kFailed);
  EXPECT_NE(err_.find("no cache in"), std::string::npos) << err_;
}

}  // namespace
}  // namespace forebay
