#include "stream/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

const std::vector<std::string> kPartitions{"a", "b"};

Decision decision_of(int64_t first, int64_t taken) {
  return {first, {{0, std::to_string(first + taken), taken, 0}}, 0};
}

class JournalTest : public testing::Test {
 protected:
  static JournalHeader header() {
    JournalHeader header;
    header.log = "memory";
    header.seed = 7;
    header.place = {0, {"", ""}, {0, 0}};
    return header;
  }
  static JournalHeader header_at(int64_t number) {
    JournalHeader header = JournalTest::header();
    header.place = {number, {std::to_string(number), ""}, {0, 0}};
    return header;
  }
  void write(const JournalHeader& header, std::initializer_list<Decision> decisions) const {
    const auto writer = JournalWriter::open(path_, header, kPartitions);
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    for (const Decision& decision : decisions) (*writer)->decided(decision);
    ASSERT_TRUE((*writer)->flush().ok());
  }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void set_text(const std::string& text) const { std::ofstream(path_) << text; }
  std::shared_ptr<JournalReader> reader() const {
    auto reader = JournalReader::open(path_, kPartitions);
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    return reader.ok() ? *reader : nullptr;
  }
  // The decisions from a number on, as a stream would follow them.
  std::vector<Decision> decisions(JournalReader& reader, int64_t first = 0) const {
    std::vector<Decision> found;
    for (;;) {
      const auto answer = reader.at(first);
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
      if (!answer.ok() || answer->kind != DecisionGuide::Kind::kDecision) return found;
      found.push_back(answer->decision);
      first = found.back().end();
    }
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("run.journal");
};

TEST_F(JournalTest, repeats_the_decisions_that_were_written) {
  const std::vector<Decision> all{decision_of(0, 4), {4, {}, 3}, decision_of(7, 5)};
  write(header(), {all[0], all[1], all[2]});
  const auto read = reader();
  EXPECT_EQ(decisions(*read), all);
  EXPECT_EQ(decisions(*read), all) << "a run may seek back";
  EXPECT_EQ(decisions(*read, 4), (std::vector<Decision>{all[1], all[2]}));
  EXPECT_EQ(read->at(12)->kind, DecisionGuide::Kind::kEnd);
}

TEST_F(JournalTest, its_header_comes_back_as_it_was) {
  JournalHeader header = header_at(12);
  header.shuffled = header.sampled = true;
  header.on_underrun = OnUnderrun::kRehearse;
  write(header, {});
  const auto opened = reader();
  const JournalHeader& read = opened->header();
  EXPECT_EQ(read.log, "memory");
  EXPECT_EQ(read.seed, 7u);
  EXPECT_TRUE(read.shuffled);
  EXPECT_TRUE(read.sampled);
  EXPECT_EQ(read.on_underrun, OnUnderrun::kRehearse);
  EXPECT_EQ(read.place, header.place);
}

TEST_F(JournalTest, a_last_line_that_is_cut_off_was_never_delivered) {
  write(header(), {decision_of(0, 4), decision_of(4, 4)});
  const std::string whole = text();
  for (const size_t cut : {1, 5, 20}) {
    set_text(whole.substr(0, whole.size() - cut));
    EXPECT_EQ(decisions(*reader()), std::vector<Decision>{decision_of(0, 4)}) << cut;
  }
}

TEST_F(JournalTest, a_damaged_line_is_corrupt_and_says_how_far_the_run_can_be_repeated) {
  write(header(), {decision_of(0, 4), decision_of(4, 4), decision_of(8, 4)});
  std::string damaged = text();
  damaged[damaged.find("\"first\":4") + 1] = 'x';
  set_text(damaged);
  const auto read = reader();
  ASSERT_TRUE(read->at(0).ok());
  const Status status = read->at(4).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("the line behind record 4 is damaged"), std::string::npos) << status.message();
}

TEST_F(JournalTest, a_run_that_stands_inside_of_a_decision_is_another_one) {
  write(header(), {decision_of(0, 4), decision_of(4, 4), decision_of(8, 4)});
  const Status status = reader()->at(6).status();
  EXPECT_EQ(status.code(), Code::kStateMismatch);
  EXPECT_NE(status.message().find("no decision begins at record 6"), std::string::npos) << status.message();
}

TEST_F(JournalTest, a_run_that_resumes_replaces_the_decisions_after_its_place) {
  write(header(), {decision_of(0, 4), decision_of(4, 4), decision_of(8, 4)});
  write(header_at(4), {decision_of(4, 2), decision_of(6, 2)});
  EXPECT_EQ(decisions(*reader()), (std::vector<Decision>{decision_of(0, 4), decision_of(4, 2), decision_of(6, 2)}));
}

TEST_F(JournalTest, a_run_that_resumes_inside_of_a_decision_keeps_that_decision) {
  write(header(), {decision_of(0, 4), decision_of(4, 4), decision_of(8, 4)});
  JournalHeader inside = header_at(6);
  inside.place.after = {"4", ""};
  inside.place.decision = decision_of(4, 4);
  write(inside, {decision_of(8, 1)});
  EXPECT_EQ(decisions(*reader()), (std::vector<Decision>{decision_of(0, 4), decision_of(4, 4), decision_of(8, 1)}));
}

TEST_F(JournalTest, the_journal_of_another_run_is_not_continued) {
  write(header(), {decision_of(0, 4)});
  const std::string before = text();
  std::vector<JournalHeader> others(5, header());
  others[0].log = "another";
  others[1].seed = 8;
  others[2].shuffled = true;
  others[3].sampled = true;
  others[4].on_underrun = OnUnderrun::kRepeat;
  others.push_back(header_at(2));
  others.push_back(header_at(40));
  for (const JournalHeader& other : others) {
    const Status status = JournalWriter::open(path_, other, kPartitions).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("give another path"), std::string::npos) << status.message();
  }
  EXPECT_EQ(text(), before) << "nothing of it was touched";
}

TEST_F(JournalTest, an_empty_file_is_begun_anew) {
  set_text("");
  write(header(), {decision_of(0, 4)});
  EXPECT_EQ(decisions(*reader()).size(), 1u);
}

TEST_F(JournalTest, files_that_are_no_journals_are_refused_with_their_name) {
  EXPECT_EQ(JournalReader::open(path_, kPartitions).status().code(), Code::kNotFound);
  for (const std::string other : {"", "text\n", "{}\n", "[1]\n", "{\"forebay\": \"stream journal\"}\n"}) {
    set_text(other);
    const Status status = JournalReader::open(path_, kPartitions).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << other;
    EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
  }
  std::filesystem::remove(path_);
  write(header(), {});
  std::string newer = text();
  newer.replace(newer.find("\"format\":1"), 10, "\"format\":9");
  set_text(newer);
  EXPECT_EQ(JournalReader::open(path_, kPartitions).status().code(), Code::kUnsupported);
  EXPECT_EQ(JournalReader::open(path_, {"a"}).status().code(), Code::kUnsupported);
}

TEST_F(JournalTest, a_log_with_other_partitions_is_another_one) {
  write(header(), {});
  EXPECT_EQ(JournalReader::open(path_, {"a"}).status().code(), Code::kStateMismatch);
  EXPECT_EQ(JournalReader::open(path_, {"a", "c"}).status().code(), Code::kStateMismatch);
}

TEST_F(JournalTest, a_path_that_cannot_be_written_is_unavailable) {
  EXPECT_EQ(JournalWriter::open(folder_.path("none/run.journal"), header(), kPartitions).status().code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace forebay
