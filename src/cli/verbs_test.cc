// Tests results, written files and failures of materialize, run, plan, inspect and demo.
#include <filesystem>
#include <sstream>

#include "cli/cli_test_support.h"
#include "cli/files.h"
#include "cli/mixing_report.h"
#include "cli/picture.h"

namespace forebay {
namespace {

using cli_test::ArrayPipeline;
using cli_test::Ended;
using cli_test::forebay;
using cli_test::TextConsole;

std::vector<int64_t> numbers_in(const std::string& path) {
  std::istringstream text(*read_text(path));
  std::vector<int64_t> numbers;
  for (int64_t number; text >> number;) numbers.push_back(number);
  return numbers;
}

// materialize

TEST(MaterializeVerb, OptionsThatRayDoesNotTakeAreMisuseAndSoAreItsOwnWithoutIt) {
  const ArrayPipeline pipeline(10);
  const std::string made = pipeline.folder().path("made");
  // Is not there, so that it cannot replace this process.
  ::setenv("FOREBAY_PYTHON", pipeline.folder().path("python").c_str(), 1);
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--shard-by", "count"}, {"--hosts", "2"}, {"--epochs", "2"}}) {
    const Ended ended = forebay({"materialize", pipeline.path(), made, "--engine", "ray", option, value});
    EXPECT_EQ(ended.code, kMisuse) << option;
    EXPECT_NE(ended.err.find(option + " does not apply to --engine ray"), std::string::npos) << ended.err;
  }
  ::unsetenv("FOREBAY_PYTHON");
  const Ended alone = forebay({"materialize", pipeline.path(), made, "--workers", "2"});
  EXPECT_EQ(alone.code, kMisuse);
  EXPECT_NE(alone.err.find("--workers, which is for --engine ray"), std::string::npos) << alone.err;
}

// run

// Ten lines of a file that may grow (a stream).
std::string stream_in(const ScratchFolder& folder) {
  folder.write("x.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  folder.write("p.json", R"({"forebay_pipeline": 1, "steps": [{"op": "text", "pattern": ")" + folder.path("x.txt") +
                             R"(", "follow": true}, {"op": "batch", "n": 2}]})");
  return folder.path("p.json");
}

TEST(RunVerb, AStreamEndsAfterTheStepsThatAreAskedFor) {
  const ScratchFolder folder;
  const std::string pipeline = stream_in(folder);
  for (const std::string verb : {"run", "bench"}) {
    const Ended endless = forebay({verb, pipeline});
    EXPECT_EQ(endless.code, kFailed) << verb;
    EXPECT_NE(endless.err.find("--steps-per-epoch"), std::string::npos) << endless.err;
  }
  const Ended ended = forebay({"run", pipeline, "--steps-per-epoch", "2", "--epochs", "2", "--json"});
  ASSERT_EQ(ended.code, kDone) << ended.err;
  const auto epochs = ended.json()["epochs"];
  ASSERT_EQ(epochs.size(), 2u);
  for (const auto& epoch : epochs) {
    EXPECT_EQ(epoch["batches"], 2);
    EXPECT_EQ(epoch["samples"], 4);
  }
  const Ended measured =
      forebay({"bench", pipeline, "--steps-per-epoch", "2", "--epochs", "2", "--rounds", "1", "--json"});
  ASSERT_EQ(measured.code, kDone) << measured.err;
  EXPECT_EQ(measured.json()["later_epochs"]["samples"], 4);
}

TEST(RunVerb, StepsOfAnEpochAreForStreams) {
  const ArrayPipeline pipeline(10);
  const Ended ended = forebay({"run", pipeline.path(), "--steps-per-epoch", "2"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("are for streams"), std::string::npos) << ended.err;
}

TEST(RunVerb, TheStateAfterEachStepCountsWhatTheIdsHave) {
  const ArrayPipeline pipeline(10);
  const std::string state = pipeline.folder().path("state"), ids = pipeline.folder().path("ids");
  ASSERT_EQ(forebay({"run", pipeline.path(), "--state", state, "--ids", ids, "--epochs", "2"}).code, kDone);
  EXPECT_EQ(numbers_in(ids).size(), 20u);
  const SortedJson saved = SortedJson::parse(*read_text(state));
  EXPECT_EQ(saved["epoch"].get<int64_t>() * 10 + saved["position"].get<int64_t>(), 20) << saved.dump();
}

TEST(RunVerb, AStateThatIsTheEndIsSaidToLeaveNothing) {
  const ArrayPipeline pipeline(10);
  const std::string state = pipeline.folder().path("state");
  forebay({"run", pipeline.path(), "--state", state});
  const Ended ended = forebay({"run", pipeline.path(), "--resume", state, "--json"});
  EXPECT_EQ(ended.code, kDone);
  EXPECT_TRUE(ended.json()["epochs"].empty());
  EXPECT_NE(ended.err.find("nothing is left to do"), std::string::npos) << ended.err;
}

TEST(RunVerb, FilesThatCannotBeWrittenEndTheRunByName) {
  const ArrayPipeline pipeline(10);
  for (const std::string option : {"--ids", "--state"}) {
    const Ended ended = forebay({"run", pipeline.path(), option, "/no/such/folder/file", "--json"});
    EXPECT_EQ(ended.code, kFailed) << option;
    EXPECT_EQ(ended.json()["error"]["key"], "/no/such/folder/file") << option;
  }
  const Ended full = forebay({"run", pipeline.path(), "--ids", "/dev/full", "--json"});
  EXPECT_EQ(full.code, kFailed);
  EXPECT_EQ(full.json()["error"]["code"], "Unavailable");
  EXPECT_NE(full.err.find("is the disk full?"), std::string::npos) << full.err;
}

TEST(RunVerb, AMissingStateIsNamedAndNoFileOfIdsIsBegun) {
  const ArrayPipeline pipeline(10);
  const std::string ids = pipeline.folder().path("ids");
  const Ended ended = forebay({"run", pipeline.path(), "--resume", pipeline.folder().path("none"), "--ids", ids});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find(pipeline.folder().path("none")), std::string::npos) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(ids)) << "what another run wrote there is still whole";
}

TEST(RunVerb, TheResultIsTheWholeOfTheOutputAndProgressIsNotInIt) {
  const ArrayPipeline pipeline(10);
  const Ended json = forebay({"run", pipeline.path(), "--json"});
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(json.json()["size"], 10);
  const Ended text = forebay({"run", pipeline.path()});
  EXPECT_EQ(text.out.find("10 of 10"), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("epoch 0: 10 of 10\n"), std::string::npos) << text.err;
  EXPECT_NE(text.out.find("digest " + json.json()["epochs"][0]["digest"].get<std::string>()), std::string::npos);
}

TEST(RunVerb, MemoryThatCannotDoIsRefusedWithTheFigureThatCan) {
  const ArrayPipeline pipeline(100'000, "", R"({"op": "batch", "n": 50000})");
  const Ended refused = forebay({"run", pipeline.path(), "--memory", "100kB", "--json"});
  ASSERT_EQ(refused.code, kFailed);
  EXPECT_EQ(refused.json()["error"]["code"], "OutOfBudget");
  const uint64_t needed = refused.json()["error"]["bytes_needed"];
  EXPECT_GT(needed, 100'000u);
  EXPECT_EQ(forebay({"run", pipeline.path(), "--memory", std::to_string(needed)}).code, kDone);
}

// plan

TEST(PlanVerb, ShowsTheFirstStepsAndCountsTheOthers) {
  const ArrayPipeline pipeline(22, "");
  const Ended some = forebay({"plan", pipeline.path(), "--steps", "2"});
  EXPECT_EQ(some.out,
            "epoch 0 of 22 samples, seed 0: rank 0 of 1 takes 6 steps\n"
            "step 0: 0 1 2 3\n"
            "step 1: 4 5 6 7\n"
            "and 4 more steps\n");
  EXPECT_EQ(forebay({"plan", pipeline.path()}).out.find("more steps"), std::string::npos);
  EXPECT_NE(forebay({"plan", pipeline.path(), "--steps", "0"}).out.find("and 6 more steps"), std::string::npos);
}

TEST(PlanVerb, RanksDivideTheBatchesOfAStep) {
  const ArrayPipeline pipeline(16, "");
  const auto ids = [&](const std::string& rank) {
    return forebay({"plan", pipeline.path(), "--rank", rank, "--world", "2", "--json"}).json()["steps"];
  };
  EXPECT_EQ(ids("0")[0]["ids"], SortedJson::array({0, 1, 2, 3}));
  EXPECT_EQ(ids("1")[0]["ids"], SortedJson::array({4, 5, 6, 7}));
  EXPECT_EQ(ids("1")[1]["position"], 8);
  EXPECT_EQ(ids("1")[1]["positions"], SortedJson::array({12, 13, 14, 15}));
}

TEST(PlanVerb, AnEmptyDataSetHasNoSteps) {
  const ArrayPipeline pipeline(16);
  const SortedJson plan = forebay({"plan", pipeline.path(), "--size", "0", "--json"}).json();
  EXPECT_EQ(plan["step_count"], 0);
  EXPECT_TRUE(plan["steps"].empty());
}

TEST(PlanVerb, AFarEpochCostsNothing) {
  const ArrayPipeline pipeline(16);
  const Ended far = forebay({"plan", pipeline.path(), "--epoch", "4611686018427387904", "--json"});
  ASSERT_EQ(far.code, kDone) << far.err;
  EXPECT_EQ(far.json()["epoch"], int64_t{1} << 62);
  EXPECT_NE(far.json()["steps"], forebay({"plan", pipeline.path(), "--json"}).json()["steps"]);
}

TEST(PlanVerb, ARankThatIsNoneIsMisuse) {
  const ArrayPipeline pipeline(16);
  const Ended ended = forebay({"plan", pipeline.path(), "--rank", "2", "--world", "2"});
  EXPECT_EQ(ended.code, kMisuse);
  EXPECT_NE(ended.err.find("rank 2 of 2; ranks count from 0"), std::string::npos) << ended.err;
}

TEST(PlanVerb, AJobOfTooManyRanksIsMisuse) {
  const ArrayPipeline pipeline(16);
  const Ended ended = forebay({"plan", pipeline.path(), "--hosts", "1048576", "--ranks-per-host", "1048576"});
  EXPECT_EQ(ended.code, kMisuse);
  EXPECT_NE(ended.err.find("--ranks-per-host"), std::string::npos) << ended.err;
}

TEST(PlanVerb, AJobOfOneHostIsOneHost) {
  const ArrayPipeline pipeline(16);
  const Ended ended = forebay({"plan", pipeline.path(), "--hosts", "1"});
  EXPECT_EQ(ended.code, kDone) << ended.err;
  EXPECT_NE(ended.out.find("on 1 host,"), std::string::npos) << ended.out;
}

TEST(PlanVerb, AnotherDealIsPlannedWhereItIsAskedFor) {
  const ArrayPipeline pipeline(64, R"({"op": "shuffle"}, {"op": "cache", "ram": "1MiB", "disk": 0},)");
  const auto planned = [&](std::vector<std::string> more) {
    std::vector<std::string> line{"plan", pipeline.path(), "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return forebay(line).json();
  };
  EXPECT_EQ(planned({"--hosts", "2"})["shard_by"], "locality");
  EXPECT_EQ(planned({"--hosts", "2", "--shard-by", "count"})["shard_by"], "count");
  const std::vector<std::string> later{"--world", "2", "--epoch", "1"},
      by_count{"--world", "2", "--epoch", "1", "--shard-by", "count"};
  EXPECT_NE(planned(later)["steps"], planned(by_count)["steps"]);
}

TEST(PlanVerb, AJobThatReadsAStreamIsRefused) {
  const ScratchFolder folder;
  const Ended ended = forebay({"plan", stream_in(folder), "--hosts", "2"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("a stream has no epochs"), std::string::npos) << ended.err;
}

TEST(PlanVerb, MixingIsForWhatIsStoredInChunksAndShuffled) {
  const ArrayPipeline rows(16), unshuffled(16, "");
  const Ended by_rows = forebay({"plan", rows.path(), "--mixing"});
  EXPECT_EQ(by_rows.code, kFailed);
  EXPECT_NE(by_rows.err.find("there are no blocks"), std::string::npos) << by_rows.err;
  const Ended not_mixed = forebay({"plan", unshuffled.path(), "--mixing", "--json"});
  EXPECT_EQ(not_mixed.json()["error"]["code"], "Unsupported");
  EXPECT_NE(not_mixed.err.find("no .shuffle()"), std::string::npos) << not_mixed.err;
}

TEST(MixingReport, MarksTheRowOfThePipelineAndNamesTheFlatOne) {
  MixingReport report;
  report.rows = 4000, report.chunks = 40, report.batch = 50, report.block = 8;
  report.table = {{4, {.distance = 0.5, .chunks = 4, .largest_share = 0.25}},
                  {8, {.distance = 0.75, .chunks = 8, .largest_share = 0.125}},
                  {0, {.distance = 1, .chunks = 28, .largest_share = 0.1}}};
  const TextConsole console;
  print_mixing({report}, console.get());
  EXPECT_NE(console.out().find("      8     0.750                8.0          12.5 %  <- this pipeline\n"),
            std::string::npos)
      << console.out();
  EXPECT_NE(console.out().find("   flat     1.000"), std::string::npos) << console.out();
  EXPECT_EQ(console.out().find("<- this pipeline"), console.out().rfind("<- this pipeline"));
  const SortedJson json = mixing_to_json({report});
  EXPECT_EQ(json["mixing"][2]["block"], "flat");
  EXPECT_EQ(json["mixing"][1]["largest_share"], 0.125);
}

TEST(MixingReport, ABlockLargerThanTheDataSetIsAllOfIt) {
  MixingReport report;
  report.chunks = 3, report.block = 8;
  report.table = {{3, {}}, {0, {}}};
  const TextConsole console;
  print_mixing({report}, console.get());
  EXPECT_NE(console.out().find("<- this pipeline"), std::string::npos) << console.out();
}

// inspect and demo

/// Writes `classes` folders with one picture each.
void write_pictures(const ScratchFolder& folder, int classes, int side) {
  for (int i = 0; i < classes; ++i) {
    const std::string name = "class" + std::to_string(i);
    std::filesystem::create_directories(folder.path(name));
    const Picture picture(side + i, side, {static_cast<uint8_t>(40 * i), 100, 200});
    ASSERT_TRUE(write_png(folder.path(name + "/a.png"), picture).ok());
  }
}

TEST(InspectVerb, SaysTheSameForAnyNumberOfThreads) {
  const ScratchFolder folder;
  write_pictures(folder, 5, 20);
  folder.write("class0/b.png", "no picture");
  const std::string one = forebay({"inspect", folder.path(), "--json", "--decode", "--threads", "1"}).out;
  EXPECT_EQ(SortedJson::parse(one)["count"], 6);
  EXPECT_EQ(SortedJson::parse(one)["width"], SortedJson({{"max", 24}, {"min", 20}}));
  for (const std::string threads : {"2", "7"})
    EXPECT_EQ(forebay({"inspect", folder.path(), "--json", "--decode", "--threads", threads}).out, one);
}

TEST(InspectVerb, WhatCannotBeReadFailsOnlyWhereThatWasAskedFor) {
  const ScratchFolder folder;
  write_pictures(folder, 1, 20);
  EXPECT_EQ(forebay({"inspect", folder.path(), "--strict"}).code, kDone);
  folder.write("class0/b.png", "no picture");
  EXPECT_EQ(forebay({"inspect", folder.path()}).code, kDone);
  const Ended strict = forebay({"inspect", folder.path(), "--strict"});
  EXPECT_EQ(strict.code, kFailed);
  EXPECT_NE(strict.out.find("unreadable  1"), std::string::npos) << "the report is printed all the same";
}

TEST(InspectVerb, ALimitOfPixelsCountsThoseAboveIt) {
  const ScratchFolder folder;
  write_pictures(folder, 3, 10);  // 100, 110 and 120 pixels
  const auto unreadable = [&](const std::string& limit) {
    return forebay({"inspect", folder.path(), "--decode", "--max-pixels", limit, "--json"})
        .json()["unreadable"]["count"];
  };
  EXPECT_EQ(unreadable("120"), 0);
  EXPECT_EQ(unreadable("119"), 1);
  EXPECT_EQ(unreadable("99"), 3);
}

TEST(InspectVerb, AFolderOfAnUnknownKindOfPlaceIsRefused) {
  const Ended ended = forebay({"inspect", "gopher://host/photos", "--json"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.err.find("gopher"), std::string::npos) << ended.err;
}

TEST(DemoVerb, RunsTheJobTwiceAndWritesTheSheet) {
  const ScratchFolder folder;
  write_pictures(folder, 3, 24);
  const std::string sheet = folder.path("sheet.png");
  const Ended ended =
      forebay({"demo", folder.path(), "--batch", "2", "--size", "8", "--threads", "1", "--output", sheet, "--json"});
  ASSERT_EQ(ended.code, kDone) << ended.err;
  const SortedJson json = ended.json();
  EXPECT_EQ(json["epochs"][0]["samples"], 3);
  EXPECT_EQ(json["epochs"][0]["batches"], 2);
  EXPECT_EQ(json["again"]["same"], true);
  EXPECT_EQ(json["again"]["threads"], 2) << "another number than the first run's";
  EXPECT_EQ(read_text(sheet)->substr(1, 3), "PNG");
}

TEST(DemoVerb, TellsOneOfAThingInTheSingular) {
  const ScratchFolder folder;
  write_pictures(folder, 1, 24);
  const Ended ended =
      forebay({"demo", folder.path(), "--size", "8", "--output", folder.path("sheet.png"), "--threads", "2"});
  ASSERT_EQ(ended.code, kDone) << ended.err;
  EXPECT_NE(ended.out.find("1 photographs in 1 class from "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" with 1 thread: same"), std::string::npos) << ended.out;
}

TEST(DemoVerb, APictureThatCannotBeReadStopsItByName) {
  const ScratchFolder folder;
  write_pictures(folder, 1, 24);
  folder.write("class0/b.png", "no picture");
  const Ended ended = forebay({"demo", folder.path(), "--size", "8", "--json"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_NE(ended.json()["error"]["key"].get<std::string>().find("b.png"), std::string::npos) << ended.out;
}

TEST(DemoVerb, SizesThatAreNoneAreMisuse) {
  for (const Arguments& wrong : {Arguments{"--size", "0"}, Arguments{"--size", "16385"}, Arguments{"--batch", "0"},
                                 Arguments{"--batch", "1048577"}}) {
    Arguments arguments = {"demo", "."};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(forebay(arguments).code, kMisuse) << wrong[1];
  }
}

}  // namespace
}  // namespace forebay
