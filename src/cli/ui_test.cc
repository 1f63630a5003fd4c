// Tests what `forebay ui` prints of the live pages of this host.
#include <sys/stat.h>

#include "cli/cli_test_support.h"
#include "serve/live_pages.h"
#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

using cli_test::Ended;
using cli_test::forebay;
using serve_test::RuntimeFolder;

TEST(Ui, WithoutPagesItSaysHowToGetOne) {
  const RuntimeFolder runtime;
  const Ended ended = forebay({"ui"});
  EXPECT_EQ(ended.code, kDone);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("loader.show()"), std::string::npos) << ended.err;
  EXPECT_EQ(forebay({"ui", "--json"}).json(), SortedJson::parse(R"({"pages": []})"));
}

TEST(Ui, ListsThePagesWithTheirAddresses) {
  const RuntimeFolder runtime;
  const auto first = PublishedPage::publish({"http://127.0.0.1:1/#a", "images('a')", "f1", 7, 0, 2});
  const auto second = PublishedPage::publish({"http://127.0.0.1:2/#b", "images('b')", "f2", 3, 1, 2});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(forebay({"ui"}).out,
            "http://127.0.0.1:2/#b\n  process 3, rank 1 of 2: images('b')\n"
            "http://127.0.0.1:1/#a\n  process 7, rank 0 of 2: images('a')\n");
  const SortedJson json = forebay({"ui", "--process", "7", "--json"}).json();
  ASSERT_EQ(json["pages"].size(), 1U);
  EXPECT_EQ(json["pages"][0]["url"], "http://127.0.0.1:1/#a");
  EXPECT_EQ(json["pages"][0]["fingerprint"], "f1");
}

TEST(Ui, AFolderOfSomebodyElseIsAFailure) {
  const RuntimeFolder runtime;
  ASSERT_TRUE(PublishedPage::publish({"u", "", "", 1, 0, 1}).ok());
  ASSERT_EQ(chmod(runtime.sockets().c_str(), 0777), 0);
  const Ended ended = forebay({"ui"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("nobody else can enter"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace forebay
