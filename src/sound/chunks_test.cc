// Tests what a reader may see of a file of chunks, with headers that the test makes.
#include "sound/chunks.h"

#include <gtest/gtest.h>

#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

constexpr uint64_t kUnknown = 0xffffffff;

struct ChunkParts {
  const char* id;
  uint64_t length;
  Blob content = {};
};

/// A RIFF file of chunks whose lengths are what the parts say.
Blob riff(const std::vector<ChunkParts>& chunks) {
  Blob bytes;
  put_text(bytes, "RIFF");
  put_number(bytes, 0, 4);
  put_text(bytes, "WAVE");
  for (const ChunkParts& chunk : chunks) {
    put_text(bytes, chunk.id);
    put_number(bytes, static_cast<uint32_t>(chunk.length), 4);
    bytes.insert(bytes.end(), chunk.content.begin(), chunk.content.end());
    if (chunk.content.size() % 2 == 1) bytes.push_back(0);
  }
  return bytes;
}

ChunkParts format_chunk(uint32_t coding = 1) {
  Blob content;
  put_number(content, coding, 2);
  content.resize(16, 0);
  return {"fmt ", 16, content};
}

Result<SoundView> view_of(const Blob& bytes, const char* format = "WAV") { return check_sound_chunks(bytes, format); }

/// The length that a reader sees instead of the one in the file; 0 if it is not replaced.
uint64_t patched_length(const SoundView& view) {
  uint64_t length = 0;
  for (size_t i = 0; i < view.patch_bytes; ++i) length |= uint64_t{view.patch[i]} << 8 * i;
  return length;
}

TEST(SoundChunks, with_all_their_samples_are_read_as_they_are) {
  const Blob bytes = riff({format_chunk(), {"data", 100, Blob(100)}});
  const Result<SoundView> view = view_of(bytes);
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  EXPECT_EQ(view->end, bytes.size());
  EXPECT_EQ(view->patch_bytes, 0u);
}

TEST(SoundChunks, may_have_others_before_and_after_the_samples) {
  EXPECT_TRUE(
      view_of(
          riff(
              {{"LIST", 5, Blob(5)}, format_chunk(), {"fact", 4, Blob(4)}, {"data", 7, Blob(7)}, {"id3 ", 9, Blob(9)}}))
          .ok());
}

TEST(SoundChunks, whose_length_the_writer_did_not_know_end_with_the_file) {
  for (const uint64_t length : {kUnknown, uint64_t{0x7fff0000}, uint64_t{0}}) {
    const Result<SoundView> view = view_of(riff({format_chunk(), {"data", length, Blob(101, 1)}}));
    ASSERT_TRUE(view.ok()) << length << ": " << view.status().to_string();
    EXPECT_EQ(view->patch_bytes, 4u) << length;
    EXPECT_EQ(view->patch_at, 12u + 24 + 4) << length;
    EXPECT_EQ(patched_length(*view), 102u) << length;
  }
}

TEST(SoundChunks, of_no_samples_that_are_followed_by_others_have_none) {
  const Result<SoundView> view = view_of(riff({format_chunk(), {"data", 0}, {"LIST", 6, Blob(6)}}));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->patch_bytes, 0u);
}

TEST(SoundChunks, that_lack_samples_say_how_many) {
  const Status status = view_of(riff({format_chunk(), {"data", 100, Blob(60)}})).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.to_string().find("says 100 bytes of samples, and 60 are there"), std::string::npos);
}

TEST(SoundChunks, without_samples_are_corrupt) {
  EXPECT_EQ(view_of(riff({format_chunk()})).status().code(), Code::kCorrupt);
  EXPECT_EQ(view_of(riff({format_chunk(), {"LIST", 1000, Blob(10)}, {"data", 4, Blob(4)}})).status().code(),
            Code::kCorrupt)
      << "nothing can be found behind a chunk that is longer than the file";
  EXPECT_EQ(view_of({}).status().code(), Code::kCorrupt);
}

TEST(SoundChunks, of_codings_that_are_not_read_are_refused_by_number) {
  for (const uint32_t coding : {1u, 3u, 6u, 7u, 0xfffeu})
    EXPECT_TRUE(view_of(riff({format_chunk(coding), {"data", 4, Blob(4)}})).ok()) << coding;
  for (const uint32_t coding : {0u, 0x55u, 0xffu}) {
    const Status status = view_of(riff({format_chunk(coding), {"data", 4, Blob(4)}})).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << coding;
  }
}

TEST(SoundChunks, that_are_followed_by_another_recording_are_refused) {
  const Blob one = riff({format_chunk(), {"data", 4, Blob(4)}});
  EXPECT_EQ(view_of(joined({one, one})).status().code(), Code::kUnsupported);
  const Blob with_list = riff({format_chunk(), {"data", 4, Blob(4)}, {"LIST", 8, Blob(8)}});
  EXPECT_EQ(view_of(joined({with_list, one})).status().code(), Code::kUnsupported);
}

TEST(SoundChunks, of_RF64_have_their_length_in_a_chunk_of_its_own) {
  const auto rf64 = [](uint64_t said, size_t has) {
    Blob sizes(8);
    put_number(sizes, static_cast<uint32_t>(said), 4);
    put_number(sizes, static_cast<uint32_t>(said >> 32), 4);
    sizes.resize(28, 0);
    Blob bytes = riff({{"ds64", 28, sizes}, format_chunk(), {"data", kUnknown, Blob(has)}});
    std::copy_n("RF64", 4, bytes.begin());
    return bytes;
  };
  EXPECT_EQ(view_of(rf64(100, 100), "RF64")->patch_bytes, 0u);
  EXPECT_EQ(view_of(rf64(101, 100), "RF64").status().code(), Code::kCorrupt);
  EXPECT_EQ(view_of(rf64(uint64_t{1} << 40, 100), "RF64").status().code(), Code::kCorrupt);
  for (const uint64_t unknown : {uint64_t{0}, UINT64_MAX}) {
    const Result<SoundView> view = view_of(rf64(unknown, 100), "RF64");
    ASSERT_TRUE(view.ok()) << view.status().to_string();
    EXPECT_EQ(view->patch_bytes, 8u);
    EXPECT_EQ(patched_length(*view), 100u);
  }
}

TEST(SoundChunks, of_AU_are_one_header_and_samples) {
  const auto au = [](uint32_t begin, uint32_t said, size_t has) {
    Blob bytes;
    put_text(bytes, ".snd");
    for (const uint32_t number : {begin, said, 3u, 8000u, 1u})
      for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(number >> shift));
    bytes.resize(24 + has, 1);
    return bytes;
  };
  EXPECT_EQ(view_of(au(24, 10, 10), "AU")->patch_bytes, 0u);
  EXPECT_EQ(view_of(au(24, 11, 10), "AU").status().code(), Code::kCorrupt);
  EXPECT_EQ(view_of(au(35, 0, 10), "AU").status().code(), Code::kCorrupt) << "the samples begin behind the file";
  EXPECT_EQ(view_of(au(24, 0xffffffff, 10), "AU")->patch_bytes, 4u);
  EXPECT_EQ(view_of(au(24, 0, 10), "AU")->patch_bytes, 4u);
  EXPECT_EQ(view_of(au(24, 0, 0), "AU")->patch_bytes, 0u);
  EXPECT_EQ(view_of(joined({au(24, 10, 10), au(24, 10, 10)}), "AU").status().code(), Code::kUnsupported);
  for (size_t size = 0; size < 24; ++size)
    EXPECT_EQ(view_of(first_bytes(au(24, 0, 0), size), "AU").status().code(), Code::kCorrupt);
}

TEST(SoundChunks, with_any_lengths_are_checked_without_reading_behind_the_file) {
  std::mt19937 random(4);
  for (const char* const format : {"WAV", "RF64", "W64", "AIFF", "AU", "CAF"}) {
    for (int i = 0; i < 2000; ++i) {
      Blob bytes(random() % 120);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
      for (const char* const id : {"data", "SSND", "fmt ", "ds64"}) {
        if (bytes.size() > 8 && random() % 2 == 0) std::memcpy(bytes.data() + random() % (bytes.size() - 4), id, 4);
      }
      const Result<SoundView> view = view_of(bytes, format);
      if (view.ok()) {
        ASSERT_LE(view->end, bytes.size());
      } else {
        ASSERT_TRUE(is_data_error(view.status().code()));
      }
    }
  }
}

}  // namespace
}  // namespace forebay
