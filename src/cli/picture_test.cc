#include "cli/picture.h"

#include <gtest/gtest.h>
#include <spng.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace forebay {
namespace {

constexpr Rgb kBlack = {0, 0, 0}, kWhite = {255, 255, 255};

/// Returns the drawn letters with '#' for ink.
std::string seen(std::string_view text, int scale = 1) {
  Picture picture(static_cast<int>(text.size()) * 6 * scale, 7 * scale, kWhite);
  picture.text(0, 0, text, scale, kBlack);
  std::string lines;
  for (int y = 0; y < picture.height(); y += scale) {
    for (int x = 0; x < picture.width(); x += scale) lines += picture.at(x, y) == kBlack ? '#' : '.';
    lines += '\n';
  }
  return lines;
}

TEST(Font, LooksLikeLetters) {
  EXPECT_EQ(seen("Ab7"),
            ".###..#.....#####.\n"
            "#...#.#.........#.\n"
            "#...#.#.##.....#..\n"
            "#...#.##..#...#...\n"
            "#####.#...#..#....\n"
            "#...#.#...#..#....\n"
            "#...#.####...#....\n");
}

TEST(Font, ScaledLettersHaveTheSameShape) { EXPECT_EQ(seen("forebay", 3), seen("forebay")); }

TEST(Font, EveryVisibleCharacterHasAShapeOfItsOwn) {
  std::vector<std::string> shapes;
  for (char c = ' '; c <= '~'; ++c) shapes.push_back(seen(std::string(1, c)));
  std::ranges::sort(shapes);
  EXPECT_EQ(std::ranges::adjacent_find(shapes), shapes.end());
}

TEST(Font, OtherBytesAreQuestionMarks) { EXPECT_EQ(seen("\x01\xC3"), seen("??")); }

TEST(Picture, LeavesOutWhatLiesOutside) {
  Picture picture(4, 4, kWhite);
  picture.set(-1, 0, kBlack);
  picture.set(0, 4, kBlack);
  picture.text(-3, -3, "MMM", 2, kBlack);
  EXPECT_EQ(picture.pixels().size(), 48u);
}

TEST(FitText, CutsWhatIsTooLong) {
  EXPECT_EQ(fit_text("daisy", 5 * 6 - 1, 1), "daisy");
  EXPECT_EQ(fit_text("daisy", 4 * 6, 1), "da..");
  EXPECT_EQ(fit_text("daisy", 0, 1), "");
  EXPECT_EQ(fit_text("Gänseblümchen", 1000, 2), "G?nsebl?mchen");
}

TEST(WritePng, CanBeReadBack) {
  Picture picture(3, 2, {1, 2, 3});
  picture.set(2, 1, {250, 0, 128});
  const std::string path = testing::TempDir() + "forebay_write_png.png";
  ASSERT_TRUE(write_png(path, picture).ok());

  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  spng_ctx* context = spng_ctx_new(0);
  spng_set_png_buffer(context, bytes.data(), bytes.size());
  std::vector<uint8_t> pixels(3 * 2 * 3);
  EXPECT_EQ(spng_decode_image(context, pixels.data(), pixels.size(), SPNG_FMT_RGB8, 0), 0);
  spng_ctx_free(context);
  EXPECT_EQ(pixels, picture.pixels());
  std::filesystem::remove(path);
}

TEST(WritePng, SaysWhereItCouldNotWrite) {
  const Status status = write_png("/no/such/folder/sheet.png", Picture(1, 1, kBlack));
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.key(), "/no/such/folder/sheet.png");
}

}  // namespace
}  // namespace forebay
