// Tests how pages become streams, with pages that the test makes.
#include "sound/ogg_streams.h"

#include <gtest/gtest.h>

#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

Blob text(const char* characters) {
  Blob bytes;
  put_text(bytes, characters);
  return bytes;
}

constexpr uint8_t kFirst = 2, kLast = 4;

/// A stream of three pages.
Blob stream(uint32_t serial = 1, const char* first_packet = "\x01vorbis") {
  return joined({ogg_page({serial, 0, kFirst, text(first_packet)}), ogg_page({serial, 1, 0, text("middle")}),
                 ogg_page({serial, 2, kLast, text("end")})});
}

Status error_of(const Blob& bytes) { return find_ogg_streams(bytes).status(); }

std::string contents(const OggStream& stream) {
  std::string all;
  for (const auto& payload : stream.payloads) all.append(payload.begin(), payload.end());
  return all;
}

TEST(OggStreams, have_their_pages_in_order) {
  const Blob bytes = stream();
  const auto streams = find_ogg_streams(bytes);
  ASSERT_TRUE(streams.ok()) << streams.status().to_string();
  ASSERT_EQ(streams->size(), 1u);
  EXPECT_EQ((*streams)[0].codec, OggStream::Codec::kVorbis);
  EXPECT_EQ(contents((*streams)[0]), "\x01vorbismiddleend");
  EXPECT_EQ((*streams)[0].range.size(), bytes.size());
}

TEST(OggStreams, are_told_apart_by_their_first_packet) {
  for (const auto& [packet, codec] : {std::pair{"\x01vorbis", OggStream::Codec::kVorbis},
                                      {"OpusHead", OggStream::Codec::kOpus},
                                      {"\x7f"
                                       "FLAC",
                                       OggStream::Codec::kFlac},
                                      {"fLaC", OggStream::Codec::kFlac}})
    EXPECT_EQ(find_ogg_streams(stream(1, packet))->front().codec, codec) << packet;
}

TEST(OggStreams, of_codecs_that_are_not_read_are_refused_by_name) {
  for (const auto& [packet, name] : {std::pair{"Speex   ", "Speex"},
                                     {"CELT    ", "CELT"},
                                     {"PCM     ", "PCM"},
                                     {"\x80theora", "Theora"},
                                     {"something", "unknown"}}) {
    const Status status = error_of(stream(1, packet));
    EXPECT_EQ(status.code(), Code::kUnsupported) << packet;
    EXPECT_NE(status.to_string().find(name), std::string::npos) << status.to_string();
  }
}

TEST(OggStreams, may_follow_each_other) {
  const Blob bytes = joined({stream(1), stream(2, "OpusHead"), stream(1)});
  const auto streams = find_ogg_streams(bytes);
  ASSERT_TRUE(streams.ok()) << streams.status().to_string();
  ASSERT_EQ(streams->size(), 3u);
  EXPECT_EQ((*streams)[1].codec, OggStream::Codec::kOpus);
  size_t sum = 0;
  for (const OggStream& each : *streams) sum += each.range.size();
  EXPECT_EQ(sum, bytes.size());
}

TEST(OggStreams, of_video_between_the_pages_are_skipped) {
  const Blob bytes = joined({ogg_page({7, 0, kFirst, text("\x80theora")}), ogg_page({1, 0, kFirst, text("\x01vorbis")}),
                             ogg_page({7, 1, 0, text("picture")}), ogg_page({1, 1, 0, text("middle")}),
                             ogg_page({7, 2, kLast, text("picture")}), ogg_page({1, 2, kLast, text("end")})});
  const auto streams = find_ogg_streams(bytes);
  ASSERT_TRUE(streams.ok()) << streams.status().to_string();
  ASSERT_EQ(streams->size(), 1u);
  EXPECT_EQ(contents((*streams)[0]), "\x01vorbismiddleend");
}

TEST(OggStreams, of_sound_side_by_side_are_refused) {
  const Blob bytes = joined({ogg_page({1, 0, kFirst, text("\x01vorbis")}), ogg_page({2, 0, kFirst, text("\x01vorbis")}),
                             ogg_page({1, 1, kLast, text("a")}), ogg_page({2, 1, kLast, text("b")})});
  EXPECT_EQ(error_of(bytes).code(), Code::kUnsupported);
  const Blob unread = joined({ogg_page({1, 0, kFirst, text("\x01vorbis")}), ogg_page({2, 0, kFirst, text("Speex   ")}),
                              ogg_page({1, 1, kLast, text("a")}), ogg_page({2, 1, kLast, text("b")})});
  EXPECT_EQ(error_of(unread).code(), Code::kUnsupported) << "the second one must not be lost";
}

TEST(OggStreams, that_end_anywhere_are_corrupt) {
  const Blob bytes = stream();
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(error_of(first_bytes(bytes, size)).code(), Code::kCorrupt) << size;
}

TEST(OggStreams, with_any_flipped_bit_are_refused) {
  const Blob whole = stream();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Blob bytes = whole;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ASSERT_FALSE(error_of(bytes).ok()) << bit;
  }
}

TEST(OggStreams, that_lack_a_page_are_corrupt) {
  const Blob first = ogg_page({1, 0, kFirst, text("\x01vorbis")}), middle = ogg_page({1, 1, 0, text("middle")}),
             end = ogg_page({1, 2, kLast, text("end")});
  EXPECT_EQ(error_of(joined({first, end})).code(), Code::kCorrupt);
  EXPECT_EQ(error_of(joined({first, middle, middle, end})).code(), Code::kCorrupt) << "a page came twice";
  EXPECT_EQ(error_of(joined({first, middle})).code(), Code::kCorrupt) << "the last page is marked";
  EXPECT_EQ(error_of(joined({middle, end})).code(), Code::kCorrupt) << "the stream has not begun";
  EXPECT_EQ(error_of(joined({first, middle, first, middle, end})).code(), Code::kCorrupt);
  EXPECT_EQ(error_of(joined({first, middle, end, end})).code(), Code::kCorrupt) << "the stream has ended";
}

TEST(OggStreams, may_be_followed_by_bytes_that_are_no_page) {
  EXPECT_TRUE(find_ogg_streams(joined({stream(), text("TAG and padding")})).ok());
  EXPECT_TRUE(find_ogg_streams(joined({stream(), Blob(100, 0)})).ok());
  EXPECT_EQ(error_of(joined({stream(), text("junk"), stream()})).code(), Code::kCorrupt);
  EXPECT_EQ(error_of(joined({stream(), text("Ogg")})).code(), Code::kCorrupt) << "the beginning of a page";
  EXPECT_EQ(error_of(text("no page at all")).code(), Code::kCorrupt);
  EXPECT_EQ(error_of({}).code(), Code::kCorrupt);
}

TEST(OggStreams, of_one_page_are_streams) {
  const auto streams = find_ogg_streams(ogg_page({1, 0, kFirst | kLast, text("\x01vorbis")}));
  ASSERT_TRUE(streams.ok());
  EXPECT_EQ(streams->front().payloads.size(), 1u);
}

TEST(OggStreams, may_have_the_largest_pages) {
  const Blob large(254 * 255 + 100, 'x');
  const Blob bytes = joined({ogg_page({1, 0, kFirst, text("\x01vorbis")}), ogg_page({1, 1, kLast, large})});
  const auto streams = find_ogg_streams(bytes);
  ASSERT_TRUE(streams.ok()) << streams.status().to_string();
  EXPECT_EQ(streams->front().payloads[1].size(), large.size());
}

}  // namespace
}  // namespace forebay
