// Tests how a failure is reported to people and programs.
#include "cli/failure.h"

#include "cli/cli_test_support.h"

namespace forebay {
namespace {

using cli_test::TextConsole;

SortedJson told(const Status& status, int code = kFailed) {
  const TextConsole console;
  EXPECT_EQ(report_failure(status, true, console.get()), code);
  return SortedJson::parse(console.out())["error"];
}

TEST(Failure, JsonHasWhatIsKnownAndNothingElse) {
  const SortedJson bare = told(corrupt("torn"));
  EXPECT_EQ(bare, SortedJson({{"code", "Corrupt"}, {"message", "torn"}}));
  const SortedJson full = told(Status(Code::kOutOfBudget, "too large")
                                   .with_key("a.jpg")
                                   .with_operator("decode_image")
                                   .with_sample(0)
                                   .with_bytes_needed(7));
  EXPECT_EQ(full, SortedJson({{"bytes_needed", 7},
                              {"code", "OutOfBudget"},
                              {"key", "a.jpg"},
                              {"message", "too large"},
                              {"operator", "decode_image"},
                              {"sample", 0}}))
      << "sample 0 is a sample";
}

TEST(Failure, PeopleGetOneSentenceAlsoBesideJson) {
  for (const bool json : {false, true}) {
    const TextConsole console;
    EXPECT_EQ(report_failure(not_found("no such folder").with_key("photos/"), json, console.get()), kFailed);
    EXPECT_EQ(console.err(), "forebay: NotFound: photos/: no such folder\n");
    EXPECT_EQ(console.out().empty(), !json);
  }
}

TEST(Failure, AnInterruptIsNoErrorThatNeedsWords) {
  const TextConsole console;
  EXPECT_EQ(report_failure(cancelled("somebody asked to stop").with_key("x"), false, console.get()), kInterrupted);
  EXPECT_EQ(console.err(), "forebay: interrupted\n");
  EXPECT_EQ(told(cancelled("interrupted"), kInterrupted)["code"], "Cancelled");
}

TEST(Failure, NamesThatAreNotUtf8GiveValidJson) {
  const SortedJson error = told(corrupt("torn").with_key("caf\xe9.jpg"));
  EXPECT_EQ(error["key"], "caf\xef\xbf\xbd.jpg");
}

TEST(Failure, JsonIsSortedAndEndsInALineOfItsOwn) {
  const TextConsole console;
  print_json({{"b", 1}, {"a", {{"d", nullptr}, {"c", SortedJson::array({1, 2})}}}}, console.get());
  const std::string text = console.out();
  EXPECT_LT(text.find("\"a\""), text.find("\"b\""));
  EXPECT_LT(text.find("\"c\""), text.find("\"d\""));
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(Problems, AreAllToldWithTheirRemedies) {
  const std::vector<Problem> problems = {{"2: take", "n is negative", "give 0 or more"},
                                         {"3: batch", "n is 0", "give 1 or more"}};
  const TextConsole console;
  EXPECT_EQ(report_problems("mine.json", problems, true, console.get()), kFailed);
  EXPECT_EQ(console.err(),
            "forebay: mine.json: the pipeline has 2 problems:\n"
            "  2: take: n is negative; give 0 or more\n"
            "  3: batch: n is 0; give 1 or more\n");
  const SortedJson error = SortedJson::parse(console.out())["error"];
  EXPECT_EQ(error["code"], "InvalidArgument");
  ASSERT_EQ(error["problems"].size(), 2u);
  EXPECT_EQ(error["problems"][1],
            SortedJson({{"message", "n is 0"}, {"operator", "3: batch"}, {"remedy", "give 1 or more"}}));
}

TEST(Problems, OfStandardInputAreSaidToBeOfIt) {
  const TextConsole console;
  report_problems("-", {{"1: files", "x", "y"}}, false, console.get());
  EXPECT_EQ(console.err(), "forebay: standard input: the pipeline has 1 problem:\n  1: files: x; y\n");
}

std::vector<ErrorEntry> many_errors(int count) {
  std::vector<ErrorEntry> errors;
  for (int i = 0; i < count; ++i)
    errors.push_back({i, "k" + std::to_string(i), "decode_image", "Corrupt", "torn", i + 1});
  return errors;
}

TEST(BadRecords, TheFirstFiveAreShownAndTheOthersCounted) {
  const auto lines = [](int count) {
    const TextConsole console;
    print_errors(many_errors(count), console.get());
    return console.err();
  };
  EXPECT_EQ(lines(0), "");
  EXPECT_EQ(lines(1), "  k0: decode_image: Corrupt: torn\n");
  EXPECT_EQ(lines(5).find("more"), std::string::npos);
  EXPECT_TRUE(lines(6).ends_with("  and 1 more\n")) << lines(6);
  EXPECT_EQ(lines(6).find("k5"), std::string::npos);
}

TEST(BadRecords, JsonHasAllOfThem) {
  const SortedJson list = errors_to_json(many_errors(40));
  ASSERT_EQ(list.size(), 40u);
  EXPECT_EQ(list[39], SortedJson({{"code", "Corrupt"},
                                  {"count", 40},
                                  {"key", "k39"},
                                  {"message", "torn"},
                                  {"operator", "decode_image"},
                                  {"sample", 39}}));
}

}  // namespace
}  // namespace forebay
