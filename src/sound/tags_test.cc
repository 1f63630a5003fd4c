#include "sound/tags.h"

#include <gtest/gtest.h>

#include "codec/audio/audio_test_support.h"

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

Blob joined(const std::vector<Blob>& parts) {
  Blob all;
  for (const Blob& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
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

}  // namespace
}  // namespace forebay
