#include "cli/command_line.h"

#include "cli/cli_test_support.h"
#include "cli/loader_flags.h"
#include "cli/storage_flags.h"
#include "cli/whole_number.h"

namespace forebay {
namespace {

using cli_test::TextConsole;

/// A command line with a word, a number from -5 to 5, an optional number, and bytes.
struct SomeLine {
  CommandLine line{"try", "Tries things."};
  std::string word;
  int small = 3;
  std::optional<int64_t> large;
  std::optional<uint64_t> bytes;
  uint64_t seed = 42;
  std::string out, err;

  SomeLine() {
    line.app().add_option("word", word, "a word");
    line.add_number("--small", small, -5, 5, "small")->capture_default_str();
    line.add_number("--large", large, 0, INT64_MAX, "large");
    line.add_bytes("--bytes", bytes, "bytes");
    line.add_seed(seed, "seed");
  }
  std::optional<int> parse(const Arguments& arguments) {
    const TextConsole console;
    const auto code = line.parse(arguments, console.get());
    out = console.out();
    err = console.err();
    return code;
  }
};

TEST(WholeNumber, IsAllOfTheTextOrNothing) {
  EXPECT_EQ(whole_number<int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole_number<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(whole_number<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(whole_number<int>("007"), 7);
  for (const std::string_view none : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x1", "9223372036854775808", "--1", "1\n"})
    EXPECT_EQ(whole_number<int64_t>(none), std::nullopt) << '\'' << none << '\'';
  EXPECT_EQ(whole_number<int64_t>(std::string_view("1\0", 2)), std::nullopt);
  EXPECT_EQ(whole_number<uint64_t>("-1"), std::nullopt) << "nothing wraps around";
  EXPECT_EQ(whole_number<int8_t>("128"), std::nullopt);
}

TEST(CommandLine, LeavesAloneWhatIsNotGiven) {
  SomeLine line;
  EXPECT_EQ(line.parse({}), std::nullopt);
  EXPECT_EQ(line.small, 3);
  EXPECT_EQ(line.large, std::nullopt);
  EXPECT_EQ(line.bytes, std::nullopt);
  EXPECT_EQ(line.seed, 42u);
  EXPECT_FALSE(line.line.json());
}

TEST(CommandLine, TakesValuesInBothForms) {
  SomeLine line;
  EXPECT_EQ(line.parse({"--small", "-5", "--large=9223372036854775807", "word", "--json"}), std::nullopt) << line.err;
  EXPECT_EQ(line.small, -5);
  EXPECT_EQ(line.large, INT64_MAX);
  EXPECT_EQ(line.word, "word");
  EXPECT_TRUE(line.line.json());
}

TEST(CommandLine, NumbersOutsideOfTheirRangeAreMisuseWithTheRange) {
  for (const std::string text : {"-6", "6", "x", "1.5", "99999999999999999999"}) {
    SomeLine line;
    EXPECT_EQ(line.parse({"--small", text}), kMisuse) << text;
    EXPECT_NE(line.err.find("'" + text + "' is no whole number from -5 to 5"), std::string::npos) << line.err;
    EXPECT_EQ(line.small, 3) << "nothing half-read is kept";
  }
}

TEST(CommandLine, AnOptionGivenTwiceIsMisuse) {
  SomeLine line;
  EXPECT_EQ(line.parse({"--small", "1", "--small", "2"}), kMisuse);
  EXPECT_NE(line.err.find("--small"), std::string::npos) << line.err;
}

TEST(CommandLine, ASizeIsANumberOfBytes) {
  const std::pair<std::string, uint64_t> sizes[] = {{"1", 1},           {"2KiB", 2048},    {"3kB", 3000},
                                                    {"1GiB", 1u << 30}, {"5M", 5'000'000}, {"0", 0}};
  for (const auto& [text, bytes] : sizes) {
    SomeLine line;
    EXPECT_EQ(line.parse({"--bytes", text}), std::nullopt) << line.err;
    EXPECT_EQ(line.bytes, bytes) << text;
  }
  for (const std::string text : {"x", "-1", "1 Gib it", "1.5.5", "20000000TiB"}) {
    SomeLine line;
    EXPECT_EQ(line.parse({"--bytes=" + text}), kMisuse) << text;
    EXPECT_NE(line.err.find("'" + text + "' is no size"), std::string::npos) << line.err;
  }
}

TEST(CommandLine, NamesTheNearestOptionBeforeItComplainsOfWhatIsMissing) {
  CommandLine line("try", "Tries things.");
  std::string word;
  line.app().add_option("word", word, "a word")->required();
  int number = 0;
  line.add_number("--threads", number, 0, 9, "threads");
  const TextConsole console;
  EXPECT_EQ(line.parse({"--thread", "3"}, console.get()), kMisuse);
  EXPECT_EQ(console.err(),
            "forebay: 'try' has no option '--thread' (did you mean '--threads'?); see 'forebay try --help'.\n");
}

TEST(CommandLine, BehindTwoDashesNothingIsAnOption) {
  SomeLine line;
  EXPECT_EQ(line.parse({"--", "--small"}), std::nullopt) << line.err;
  EXPECT_EQ(line.word, "--small");
  EXPECT_EQ(line.small, 3);
}

TEST(CommandLine, ANegativeNumberIsNoOption) {
  SomeLine line;
  EXPECT_EQ(line.parse({"--small", "-3"}), std::nullopt) << line.err;
  EXPECT_EQ(line.small, -3);
}

TEST(CommandLine, TooManyWordsAreMisuse) {
  SomeLine line;
  EXPECT_EQ(line.parse({"one", "two"}), kMisuse);
  EXPECT_NE(line.err.find("more arguments than it takes"), std::string::npos) << line.err;
}

TEST(CommandLine, HelpTellsDefaultsAndIsAResult) {
  SomeLine line;
  EXPECT_EQ(line.parse({"--help"}), kDone);
  EXPECT_EQ(line.err, "");
  for (const std::string part : {"Tries things.", "--small N=3 ", "--seed N=42 ", "--bytes BYTES", "--json"})
    EXPECT_NE(line.out.find(part), std::string::npos) << part << "\n" << line.out;
}

// The options of loaders

struct Flags {
  std::optional<int> code;
  LoaderOptions options;
  std::string err;
};

Flags flags_of(const Arguments& arguments, LoaderFlags::Which which = LoaderFlags::Which::kAll) {
  CommandLine line("try", "Tries things.");
  const LoaderFlags flags(line, which);
  const TextConsole console;
  const auto code = line.parse(arguments, console.get());
  return {code, flags.options(), console.err()};
}

TEST(LoaderFlags, HelpListsTheWordsThatAreAccepted) {
  CommandLine line("try", "Tries things.");
  const LoaderFlags flags(line, LoaderFlags::Which::kAll);
  const std::string help = line.app().help();
  EXPECT_NE(help.find("auto|count|locality"), std::string::npos) << help;
  EXPECT_NE(help.find("raise|skip|replace"), std::string::npos) << help;
}

TEST(LoaderFlags, NotGivenAreTheDefaultsOfTheLoader) {
  const LoaderOptions given = flags_of({}).options, own;
  EXPECT_EQ(given.seed, own.seed);
  EXPECT_EQ(given.epochs, own.epochs);
  EXPECT_EQ(given.resources.threads, own.resources.threads);
  EXPECT_EQ(given.resources.requests, own.resources.requests);
  EXPECT_EQ(given.resources.memory, own.resources.memory);
  EXPECT_EQ(given.errors.on_error, own.errors.on_error);
  EXPECT_FALSE(given.errors.max_errors.has_value());
  EXPECT_TRUE(given.storage_options.empty());
}

TEST(LoaderFlags, EachSetsItsOption) {
  const LoaderOptions given =
      flags_of({"--seed", "18446744073709551615", "--epochs", "7", "--threads", "3", "--requests", "65536", "--memory",
                "1MiB", "--on-error", "replace", "--max-errors", "5", "--storage-option", "latency=5ms"})
          .options;
  EXPECT_EQ(given.seed, UINT64_MAX);
  EXPECT_EQ(given.epochs, 7);
  EXPECT_EQ(given.resources.threads, 3);
  EXPECT_EQ(given.resources.requests, 65'536);
  EXPECT_EQ(given.resources.memory, 1u << 20);
  EXPECT_EQ(given.errors.on_error, OnError::kReplace);
  EXPECT_EQ(given.errors.max_errors->count, 5);
  EXPECT_FALSE(given.errors.max_errors->share.has_value());
  EXPECT_EQ(given.storage_options, (std::map<std::string, std::string>{{"latency", "5ms"}}));
}

TEST(LoaderFlags, ALimitWithAPointIsAShare) {
  for (const auto& [text, share] :
       std::vector<std::pair<std::string, double>>{{"0.0", 0}, {"1.0", 1}, {"0.25", 0.25}}) {
    const Flags flags = flags_of({"--max-errors", text});
    ASSERT_TRUE(flags.options.errors.max_errors && flags.options.errors.max_errors->share) << text << flags.err;
    EXPECT_EQ(*flags.options.errors.max_errors->share, share);
  }
  for (const std::string text : {"1.1", "-0.1", "0.5x", ".", "nan.", "1e-2"})
    EXPECT_EQ(flags_of({"--max-errors=" + text}).code, kMisuse) << text;
}

TEST(LoaderFlags, TheBasicOnesAreFewAndTheOthersAreUnknownThere) {
  EXPECT_EQ(flags_of({"--seed", "1", "--epochs", "2", "--threads", "3"}, LoaderFlags::Which::kBasic).code,
            std::nullopt);
  for (const std::string option :
       {"--memory=1MiB", "--requests=3", "--on-error=skip", "--max-errors=1", "--storage-option=a=b"}) {
    const Flags flags = flags_of({option}, LoaderFlags::Which::kBasic);
    EXPECT_EQ(flags.code, kMisuse) << option;
    EXPECT_NE(flags.err.find("has no option"), std::string::npos) << flags.err;
  }
}

TEST(LoaderFlags, APolicyThatIsNoneIsToldWithThoseThereAre) {
  const Flags flags = flags_of({"--on-error", "ignore"});
  EXPECT_EQ(flags.code, kMisuse);
  for (const std::string policy : {"ignore", "raise", "skip", "replace"})
    EXPECT_NE(flags.err.find(policy), std::string::npos) << flags.err;
}

TEST(StorageFlags, ValuesMayHoldEqualsSignsAndBeEmptyAndTheLastOneCounts) {
  const auto options = flags_of({"--storage-option", "token=a=b=", "--storage-option",
                                 "empty=", "--storage-option=key=1", "--storage-option", "key=2"})
                           .options.storage_options;
  EXPECT_EQ(options, (std::map<std::string, std::string>{{"token", "a=b="}, {"empty", ""}, {"key", "2"}}));
}

TEST(StorageFlags, TakeOneWordEachSoThatTheNextIsTheVerbs) {
  CommandLine line("try", "Tries things.");
  std::string word;
  line.app().add_option("word", word, "a word");
  const StorageFlags flags(line);
  const TextConsole console;
  EXPECT_EQ(line.parse({"--storage-option", "a=b", "p.json"}, console.get()), std::nullopt) << console.err();
  EXPECT_EQ(word, "p.json");
  EXPECT_EQ(flags.options().size(), 1u);
}

TEST(StorageFlags, WhatHasNoKeyIsMisuse) {
  for (const std::string text : {"latency", "=5ms", "="}) {
    const Flags flags = flags_of({"--storage-option", text});
    EXPECT_EQ(flags.code, kMisuse) << text;
    EXPECT_NE(flags.err.find("KEY=VALUE"), std::string::npos) << flags.err;
  }
}

}  // namespace
}  // namespace forebay
