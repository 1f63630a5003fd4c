#include "sound/tags.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

Blob id3v1() {
  Blob tag(128, 't');
  tag[0] = 'T', tag[1] = 'A', tag[2] = 'G';
  return tag;
}

Blob ape(size_t items, bool header) {
  Blob tag(header ? 32 : 0, 'h');
  tag.resize(tag.size() + items, 'i');
  put_text(tag, "APETAGEX");
  put_number(tag, 2000, 4);
  put_number(tag, static_cast<uint32_t>(items + 32), 4);
  put_number(tag, 1, 4);
  put_number(tag, header ? 0x80000000u : 0, 4);
  tag.resize(tag.size() + 8, 0);
  return tag;
}

TEST(Tags, at_the_end_are_found_in_any_order) {
  const Blob sound(500, 0x11);
  Blob lyrics;
  put_text(lyrics, "LYRICSBEGININD00002");
  const std::string size = "000019LYRICS200";
  put_text(lyrics, size.c_str());
  for (const std::vector<Blob>& tags : std::vector<std::vector<Blob>>{{id3v1()},
                                                                      {ape(40, true)},
                                                                      {ape(40, false), id3v1()},
                                                                      {lyrics, id3v1()},
                                                                      {ape(9, true), lyrics, id3v1(), id3v1()}}) {
    const Blob tail = joined(tags);
    EXPECT_EQ(tail_tag_bytes(joined({sound, tail})), tail.size());
  }
  EXPECT_EQ(tail_tag_bytes(sound), 0u);
}

// Tags with sizes that lead out of the file are not tags, and nothing is read outside of it.
TEST(Tags, that_state_absurd_sizes_are_none) {
  Blob tag = ape(40, false);
  for (size_t byte = 0; byte < 4; ++byte) tag[tag.size() - 20 + byte] = 0xff;
  EXPECT_EQ(tail_tag_bytes(tag), 0u);
  for (size_t length = 0; length < 200; ++length) {
    const Blob whole = joined({ape(10, true), id3v1()});
    EXPECT_LE(
        tail_tag_bytes(Blob(whole.end() - static_cast<std::ptrdiff_t>(std::min(length, whole.size())), whole.end())),
        length);
  }
}

/// Bytes that end where readable memory ends.
class GuardedBytes {
 public:
  explicit GuardedBytes(const std::string& text) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    pages_ = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages_, MAP_FAILED);
    bytes_ = 2 * page;
    uint8_t* const end = static_cast<uint8_t*>(pages_) + page;
    EXPECT_EQ(mprotect(end, page, PROT_NONE), 0);
    span_ = {end - text.size(), text.size()};
    std::memcpy(end - text.size(), text.data(), text.size());
  }
  ~GuardedBytes() { munmap(pages_, bytes_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  std::span<const uint8_t> span() const { return span_; }

 private:
  void* pages_ = nullptr;
  size_t bytes_ = 0;
  std::span<const uint8_t> span_;
};

// A character below '0' makes the size of the lyrics negative, so that their beginning would be
// looked for at, or behind, the end of the file.
TEST(Tags, with_a_size_that_is_no_number_are_none_and_nothing_is_read_behind_the_end) {
  for (int character = 0; character < 256; ++character) {
    for (size_t digit = 0; digit < 6; ++digit) {
      std::string text = std::string(40, 'x') + "000000LYRICS200";
      text[40 + digit] = static_cast<char>(character);
      const GuardedBytes bytes(text);
      EXPECT_EQ(tail_tag_bytes(bytes.span()), 0u) << character << " " << digit;
    }
  }
}

TEST(Tags, that_fill_the_whole_file_leave_no_recording) {
  EXPECT_EQ(tail_tag_bytes(id3v1()), 128u);
  EXPECT_EQ(tail_tag_bytes(ape(10, true)), 74u);
  EXPECT_EQ(tail_tag_bytes({}), 0u);
}

TEST(Tags, of_ID3v1_may_have_an_extension) {
  Blob extended(227, 'e');
  std::memcpy(extended.data(), "TAG+", 4);
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), extended, id3v1()})), 355u);
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), extended})), 0u) << "it stands before an ID3v1 tag only";
}

TEST(Tags, of_ID3v2_at_the_end_have_a_footer_that_says_their_size) {
  Blob tag;
  put_text(tag, "ID3");
  tag.resize(10 + 300, 'i');
  put_text(tag, "3DI");
  tag.insert(tag.end(), {4, 0, 0, 0, 0, 300 >> 7, 300 & 0x7f});
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), tag})), 320u);
  tag[0] = 'J';
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), tag})), 0u) << "no header is where the footer says";
}

TEST(Tags, of_the_first_lyrics_are_found_by_their_beginning) {
  Blob lyrics;
  put_text(lyrics, "LYRICSBEGIN");
  lyrics.resize(lyrics.size() + 400, 'l');
  put_text(lyrics, "LYRICSEND");
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), lyrics, id3v1()})), lyrics.size() + 128);
  Blob too_long;
  put_text(too_long, "LYRICSBEGIN");
  too_long.resize(too_long.size() + 6000, 'l');
  put_text(too_long, "LYRICSEND");
  EXPECT_EQ(tail_tag_bytes(joined({Blob(500, 0x11), too_long})), 0u);
}

TEST(Tags, of_any_random_tail_are_no_longer_than_the_file) {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"TAG",      "TAG+",      "3DI",       "ID3",
                                          "APETAGEX", "LYRICS200", "LYRICSEND", "LYRICSBEGIN"};
  for (int i = 0; i < 3000; ++i) {
    std::string text(random() % 300, '\0');
    for (char& character : text) character = static_cast<char>(random());
    for (int k = 0; k < 4; ++k) {
      const std::string& part = parts[random() % parts.size()];
      if (text.size() < part.size()) continue;
      const size_t from_end = std::min<size_t>(text.size(), part.size() + random() % 40);
      text.replace(text.size() - from_end, part.size(), part);
    }
    const GuardedBytes bytes(text);
    ASSERT_LE(tail_tag_bytes(bytes.span()), text.size()) << i;
  }
}

}  // namespace
}  // namespace forebay
