// Tests output and exit codes of the whole program. No test here opens a data set.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli_test_support.h"

namespace forebay {
namespace {

using cli_test::Ended;
using cli_test::forebay;
using cli_test::TextConsole;

/// Runs the program with `arguments` and this file as standard output.
Ended printed_into(FILE* out, const Arguments& arguments) {
  const TextConsole console;
  const int code = run_program(arguments, {out, console.get().err});
  std::fclose(out);
  return {code, "", console.err()};
}

TEST(Program, EveryVerbOfTheTableIsInTheHelpWithItsSentence) {
  const std::string help = forebay({"--help"}).out;
  for (const Verb& verb : verbs()) {
    EXPECT_NE(help.find("  " + std::string(verb.name) + " "), std::string::npos) << verb.name;
    EXPECT_NE(help.find(verb.help), std::string::npos) << verb.name;
    EXPECT_EQ(verb.help.find('\n'), std::string_view::npos) << verb.name;
  }
}

TEST(Program, HelpThatWasAskedForIsAResultAndHelpThatWasNotIsAComplaint) {
  for (const Arguments& asked : {Arguments{"--help"}, Arguments{"-h"}, Arguments{"help"}}) {
    const Ended ended = forebay(asked);
    EXPECT_EQ(ended.code, kDone);
    EXPECT_EQ(ended.err, "");
  }
  const Ended ended = forebay({});
  EXPECT_EQ(ended.code, kMisuse);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, forebay({"--help"}).out);
}

TEST(Program, HelpOfAVerbIsTheSameBothWaysRound) {
  for (const Verb& verb : verbs()) {
    const std::string name(verb.name);
    const Ended ended = forebay({"help", name});
    EXPECT_EQ(ended.code, kDone) << name;
    EXPECT_EQ(ended.out, forebay({name, "-h"}).out) << name;
    EXPECT_NE(ended.out.find("--json"), std::string::npos) << name;
  }
}

TEST(Program, WhatIsNoVerbIsMisuseOnOneLine) {
  for (const Arguments& wrong : {Arguments{"fly"}, Arguments{"--fast"}, Arguments{""}, Arguments{"help", "fly"},
                                 Arguments{"RUN"}, Arguments{"run ", "p.json"}}) {
    const Ended ended = forebay(wrong);
    EXPECT_EQ(ended.code, kMisuse) << wrong.front();
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_NE(ended.err.find("forebay --help"), std::string::npos) << ended.err;
  }
}

TEST(Program, AnOptionThatIsNoneIsCalledAnOption) {
  EXPECT_NE(forebay({"--versio"}).err.find("no option '--versio' (did you mean '--version'?)"), std::string::npos)
      << forebay({"--versio"}).err;
}

TEST(Program, TheVerboseVersionListsWhatTheJsonListsToo) {
  const std::string text = forebay({"--version", "--verbose"}).out;
  EXPECT_TRUE(text.starts_with(forebay({"--version"}).out)) << text;
  const auto json = forebay({"--version", "--json"}).json();
  EXPECT_NE(text.find(json["compiler"].get<std::string>()), std::string::npos) << text;
  for (const auto& part : {json["libraries"], json["modules"]}) {
    EXPECT_FALSE(part.empty());
    for (const auto& [name, value] : part.items()) EXPECT_NE(text.find("\n  " + name + " "), std::string::npos) << name;
  }
}

TEST(Program, AnUnknownOptionAfterVersionIsMisuse) {
  const Ended ended = forebay({"--version", "--verbos"});
  EXPECT_EQ(ended.code, kMisuse);
  EXPECT_NE(ended.err.find("did you mean '--verbose'?"), std::string::npos) << ended.err;
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  const Ended ended = printed_into(full, {"--help"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("could not be written"), std::string::npos) << ended.err;
}

TEST(Program, APipeThatNobodyReadsIsAFailureAndNoCrash) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);  // as some shells and Python start programs
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const Ended ended = printed_into(::fdopen(ends[1], "w"), {"--help"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("could not be written"), std::string::npos) << ended.err;
  ::signal(SIGPIPE, before);
}

TEST(Program, MisuseStaysMisuseWhereOutputCannotBeWritten) {
  FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::fputs("something before", full);
  EXPECT_EQ(printed_into(full, {"fly"}).code, kMisuse);
}

// Failures of files that every verb meets

TEST(Program, AMissingPipelineIsNamedForPeopleAndForPrograms) {
  for (const std::string verb : {"run", "plan"}) {
    const Ended ended = forebay({verb, "/no/such/pipeline.json", "--json"});
    EXPECT_EQ(ended.code, kFailed);
    EXPECT_EQ(ended.json()["error"]["code"], "NotFound");
    EXPECT_EQ(ended.json()["error"]["key"], "/no/such/pipeline.json");
    EXPECT_NE(ended.err.find("/no/such/pipeline.json"), std::string::npos);
  }
}

TEST(Program, WithoutJsonFailuresPrintNoResult) {
  const Ended ended = forebay({"run", "/no/such/pipeline.json"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(ended.err.starts_with("forebay: NotFound: /no/such/pipeline.json: ")) << ended.err;
}

}  // namespace
}  // namespace forebay
