// Tests output of verbs in edge cases: no items, a single item, names that are not UTF-8, and text
// next to JSON.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/cli_test_support.h"
#include "cli/inspect_report.h"
#include "cli/ledger_text.h"
#include "cli/mixing_report.h"
#include "cli/process_memory.h"
#include "cli/progress.h"
#include "forebay/ledger.h"
#include "forebay/pipeline.h"

namespace forebay::cli_test {
namespace {

size_t lines_in(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

// ---- mixing

MixingReport report_of(int64_t chunks, int64_t block) {
  MixingReport report;
  report.rows = chunks * 10;
  report.chunks = chunks;
  report.batch = 8;
  report.block = block;
  const auto table = mixing_table(
      {.chunk_rows = std::vector<int64_t>(static_cast<size_t>(chunks), 10), .batch = 8, .epoch = 0}, block, 1, 0);
  EXPECT_TRUE(table.ok());
  report.table = *table;
  return report;
}

TEST(MixingText, marks_one_row_whatever_the_block) {
  for (const int64_t chunks : {1, 3, 40}) {
    for (const int64_t block : {1, 2, 8, 1000}) {
      const TextConsole console;
      print_mixing({report_of(chunks, block)}, console.get());
      const std::string text = console.out();
      const size_t mark = text.find("<- this pipeline");
      ASSERT_NE(mark, std::string::npos) << text;
      EXPECT_EQ(text.find("<- this pipeline", mark + 1), std::string::npos) << text;
      EXPECT_TRUE(console.err().empty());
    }
  }
}

TEST(MixingText, says_the_same_as_its_json) {
  const MixingReport report = report_of(40, 8);
  const TextConsole console;
  print_mixing({report}, console.get());
  const SortedJson json = mixing_to_json({report});
  EXPECT_EQ(json["rows"], 400);
  EXPECT_EQ(json["chunks"], 40);
  EXPECT_EQ(json["mixing"].size(), report.table.size());
  EXPECT_NE(console.out().find("400 rows in 40 chunks, batches of 8 rows, lanes=1"), std::string::npos);
  std::set<std::string> blocks;
  for (const SortedJson& row : json["mixing"]) {
    EXPECT_TRUE(blocks.insert(row["block"].dump()).second) << "each block once";
    EXPECT_GE(row["distance"], 0.0);
    EXPECT_LE(row["largest_share"], 1.0);
    EXPECT_GE(row["chunks_in_batch"], 1.0);
  }
  EXPECT_TRUE(blocks.contains("\"flat\""));
  EXPECT_TRUE(blocks.contains("8"));
}

// ---- a ledger as text

TEST(LedgerText, of_nothing_says_nothing_that_is_not_so) {
  const std::string text = to_text(Ledger());
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  EXPECT_EQ(text.find("stores["), std::string::npos) << "there are none";
}

TEST(LedgerText, has_one_line_a_figure_whose_name_stands_once) {
  Ledger ledger;
  ledger.steps.resize(3);
  ledger.stores.resize(1);
  const std::string text = to_text(ledger);
  std::set<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos) << "the last line ends, too";
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(names.insert(line.substr(0, line.find(' '))).second) << line;
    begin = end + 1;
  }
  EXPECT_TRUE(names.contains("steps[2].samples")) << text;
  EXPECT_FALSE(names.contains("steps[3].samples"));
}

// ---- inspect

TEST(InspectText, tells_one_of_a_thing_and_none_apart_from_many) {
  InspectReport report;
  report.url = "photos";
  const size_t without = lines_in(report.to_text());
  report.labelled = false;
  report.why_not_labelled = "pictures stand beside the class folders";
  EXPECT_NE(report.to_text().find("pictures stand beside the class folders"), std::string::npos) << report.to_text();
  report.found.add_object(10);
  report.found.add_unreadable(0, corrupt("made to fail").with_key("a.jpg"));
  const std::string text = report.to_text();
  EXPECT_GT(lines_in(text), without);
  EXPECT_NE(text.find("a.jpg"), std::string::npos) << text;
  EXPECT_EQ(report.to_json()["unreadable"]["first"].size(), 1u) << report.to_json().dump();
}

TEST(InspectText, of_names_that_are_no_utf8_is_valid_json_all_the_same) {
  InspectReport report;
  report.url = "caf\xe9";
  report.classes["\xff\xfe"] = 3;
  report.found.add_unreadable(0, corrupt("\xe9").with_key("\xe9.jpg"));
  const TextConsole console;
  print_json(report.to_json(), console.get());
  EXPECT_FALSE(SortedJson::parse(console.out(), nullptr, false).is_discarded()) << console.out();
}

TEST(Extents, of_nothing_are_empty_and_of_several_their_ends) {
  Extent all, some, none;
  EXPECT_TRUE(all.empty());
  some.add(7);
  some.add(-3);
  all.add(some);
  all.add(none);
  EXPECT_EQ(all.min, -3);
  EXPECT_EQ(all.max, 7);
  EXPECT_FALSE(all.empty());
}

// ---- progress

TEST(ProgressLine, of_no_work_at_all_is_no_division_by_nothing) {
  for (const int64_t total : {0, 1}) {
    const std::string line = progress_line("epoch 0", 0, total, 0, 80);
    EXPECT_EQ(line.find("nan"), std::string::npos) << line;
    EXPECT_LE(line.size(), 80u);
    EXPECT_NE(line.find("0 of " + std::to_string(total)), std::string::npos) << line;
  }
}

TEST(ProgressLine, never_is_longer_than_the_terminal_whatever_it_has_to_say) {
  for (int width = 0; width < 130; ++width) {
    for (const std::string& note : {std::string(), std::string("limit: storage"), std::string(200, 'x')}) {
      for (const int64_t total : {int64_t{1}, int64_t{100}, int64_t{1} << 60}) {
        for (const int64_t done : {int64_t{0}, total / 2, total})
          ASSERT_LE(progress_line("epoch 12", done, total, 1e9, width, note).size(), static_cast<size_t>(width));
      }
    }
  }
}

TEST(ProgressText, without_a_terminal_is_a_line_for_each_quarter_and_no_more) {
  for (const int64_t total : {4, 7, 1000}) {
    const TextConsole console;
    {
      Progress progress(console.get(), "looking", total, false);
      for (int64_t done = 0; done <= total; ++done) {
        progress.update(done);
        progress.update(done);  // a repeated value prints nothing
      }
    }
    EXPECT_LE(lines_in(console.err()), 5u) << console.err();
    EXPECT_GE(lines_in(console.err()), 3u) << console.err();
    EXPECT_EQ(console.err().find('\r'), std::string::npos) << "nothing redraws itself in a file";
    EXPECT_TRUE(console.out().empty()) << "results stand alone";
  }
}

// ---- plan

TEST(PlanVerb, of_a_given_size_looks_at_no_data) {
  const ScratchFolder folder;
  folder.write("p.json", R"({"forebay_pipeline": 1, "steps": [{"op": "images", "root": "/nowhere/at/all"},
                             {"op": "shuffle"}, {"op": "decode_image"}, {"op": "take", "n": 10},
                             {"op": "center_crop", "n": 8}, {"op": "batch", "n": 4, "last": "pad"}]})");
  const Ended planned = forebay({"plan", folder.path("p.json"), "--size", "1000", "--json"});
  ASSERT_EQ(planned.code, kDone) << planned.err;
  const SortedJson plan = planned.json();
  EXPECT_EQ(plan["size"], 10) << "take is obeyed";
  ASSERT_EQ(plan["steps"].size(), 3u);
  EXPECT_EQ(plan["steps"][2]["padding"], 2);
  std::set<int64_t> ids;
  for (const SortedJson& step : plan["steps"])
    for (const int64_t id : step["ids"]) ids.insert(id);
  EXPECT_EQ(ids.size(), 10u);
  EXPECT_EQ(*ids.rbegin(), 9);
  const Ended text = forebay({"plan", folder.path("p.json"), "--size", "1000"});
  EXPECT_NE(text.out.find("(the last 2 padding)"), std::string::npos) << text.out;
}

TEST(PlanVerb, of_a_table_cannot_be_said_from_its_size_and_that_is_told) {
  const ScratchFolder folder;
  folder.write("p.json", R"({"forebay_pipeline": 1, "steps": [{"op": "parquet", "pattern": "x.parquet"},
                             {"op": "batch", "n": 4}]})");
  const Ended refused = forebay({"plan", folder.path("p.json"), "--size", "1000"});
  EXPECT_EQ(refused.code, kFailed);
  EXPECT_NE(refused.err.find("row groups"), std::string::npos) << refused.err;
}

TEST(PlanVerb, problems_of_the_pipeline_are_told_before_anything_is_looked_at) {
  const ScratchFolder folder;
  folder.write("p.json", R"({"forebay_pipeline": 1, "steps": [{"op": "images", "root": "/nowhere"},
                             {"op": "resise", "size": 3}, {"op": "batch", "n": 0}]})");
  for (const char* verb : {"plan", "run", "diagnose"}) {
    const Ended told = forebay({verb, folder.path("p.json")});
    EXPECT_NE(told.code, kDone) << verb;
    EXPECT_NE(told.err.find("did you mean 'resize'?"), std::string::npos) << verb << told.err;
    EXPECT_NE(told.err.find("n is 0"), std::string::npos) << verb << ": all of them at once";
    EXPECT_EQ(told.err.find("/nowhere"), std::string::npos) << verb;
  }
}

// ---- diagnose

TEST(DiagnoseVerb, a_change_without_a_place_to_write_it_is_misuse_before_anything_is_tried) {
  const ArrayPipeline pipeline(16);
  const Ended ended = forebay({"diagnose", pipeline.path(), "--apply", "1"});
  EXPECT_EQ(ended.code, kMisuse);
  EXPECT_NE(ended.err.find("give --output FILE"), std::string::npos) << ended.err;
  EXPECT_EQ(forebay({"diagnose", pipeline.path(), "--output", "x"}).code, kMisuse) << "nothing to write there";
  EXPECT_EQ(forebay({"diagnose", pipeline.path(), "--step", "-1"}).code, kMisuse);
}

TEST(DiagnoseVerb, a_pipeline_that_is_not_there_is_named) {
  const Ended ended = forebay({"diagnose", "/no/such/p.json", "--json"});
  EXPECT_EQ(ended.code, kFailed);
  EXPECT_EQ(ended.json()["error"]["code"], "NotFound");
}

// ---- the process

TEST(PeakResidentBytes, are_more_than_what_was_just_written_to_and_never_fall) {
  const uint64_t before = peak_resident_bytes();
  EXPECT_GT(before, uint64_t{1} << 20) << "a program takes a mebibyte";
  {
    std::string touched(64 << 20, 'x');
    EXPECT_GE(peak_resident_bytes(), uint64_t{64} << 20);
    EXPECT_EQ(touched.back(), 'x');
  }
  EXPECT_GE(peak_resident_bytes(), before);
}

}  // namespace
}  // namespace forebay::cli_test
