#include "cli/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace forebay {
namespace {

TEST(ProgressLine, FillsTheWidth) {
  const std::string line = progress_line("epoch 0", 50, 100, 812.4, 60);
  EXPECT_EQ(line.size(), 60u);
  EXPECT_TRUE(line.starts_with("epoch 0  [===")) << line;
  EXPECT_TRUE(line.ends_with("]  50 of 100  812/s")) << line;
}

TEST(ProgressLine, IsEmptyAtTheBeginningAndFullAtTheEnd) {
  EXPECT_NE(progress_line("e", 0, 10, 0, 40).find("[>  "), std::string::npos);
  EXPECT_EQ(progress_line("e", 10, 10, 0, 40).find('>'), std::string::npos);
  EXPECT_EQ(progress_line("e", 11, 10, 0, 40).find('>'), std::string::npos);
}

TEST(ProgressLine, FitsIntoAnyWidth) {
  for (int width = 0; width < 100; ++width) {
    EXPECT_LE(progress_line("epoch 12", 3, 0, 1e9, width).size(), static_cast<size_t>(width));
    EXPECT_LE(progress_line("epoch 12", 3, 7, 1e9, width).size(), static_cast<size_t>(width));
  }
}

/// Returns the output if `err` is not a terminal.
std::string printed(bool quiet) {
  char* text = nullptr;
  size_t size = 0;
  FILE* err = open_memstream(&text, &size);
  {
    Progress progress({.out = stdout, .err = err}, "epoch 0", 100, quiet);
    for (int done = 1; done <= 100; ++done) progress.update(done);
  }
  std::fclose(err);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(ProgressLine, SaysTheNoteAtTheEndAndCutsItWhereThereIsNoRoom) {
  EXPECT_TRUE(progress_line("e", 3, 10, 5, 60, "limit: storage").ends_with("5/s  limit: storage"));
  EXPECT_EQ(progress_line("e", 3, 10, 5, 20, "limit: storage").size(), 20u);
}

TEST(Progress, PrintsPlainLinesWhereThereIsNoTerminal) {
  EXPECT_EQ(printed(false), "epoch 0: 25 of 100\nepoch 0: 50 of 100\nepoch 0: 75 of 100\nepoch 0: 100 of 100\n");
}

TEST(Progress, IsSilentWhenAskedToBe) { EXPECT_EQ(printed(true), ""); }

}  // namespace
}  // namespace forebay
