#include "base/sniff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace forebay {
namespace {

using namespace std::string_literals;
using Kind = FileKind;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Kind kind_of(const std::string& text) { return sniff(bytes_of(text), text.size()).kind; }

std::string at(size_t offset, const std::string& bytes, const std::string& first = "", char fill = '\x01') {
  std::string text = first;
  text.resize(offset, fill);
  return text + bytes;
}

std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255);
  return text;
}

std::string zip_of(const std::string& member) {
  return "PK\x03\x04"s + std::string(22, '\1') + number(member.size(), 2) + number(0, 2) + member + "content";
}

std::string old_tar() {
  std::string block = "name.txt";
  block.resize(512, '\0');
  block.replace(124, 12, "00000000005\0"s);
  block.replace(148, 8, "        ");
  uint64_t sum = 0;
  for (const char c : block) sum += static_cast<uint8_t>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", static_cast<unsigned>(sum));
  block.replace(148, 8, std::string(digits) + "\0 "s);
  return block + "hello";
}

const std::string kLfs =
    "version https://git-lfs.github.com/spec/v1\noid "
    "sha256:4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a\nsize 123456\n";

const std::vector<std::pair<Kind, std::string>>& examples() {
  static const std::vector<std::pair<Kind, std::string>> kExamples = {
      {Kind::kUnknown, "\xC0\xC1\xF5\x02\x03\x04\x05"s},
      {Kind::kEmpty, ""},
      {Kind::kZeros, std::string(4096, '\0')},
      {Kind::kLfsPointer, kLfs},
      {Kind::kLfsPointer, "version https://hawser.github.com/spec/v1\noid sha256:00\nsize 1\n"},
      {Kind::kLfsPointer, "version https://git-lfs.github.com/spec/v1\next-0-foo sha256:00\noid sha256:00\nsize 1\n"},
      {Kind::kAnnexPointer, "/annex/objects/SHA256E-s123--0011.tar\n"},
      {Kind::kAnnexPointer, "../../.git/annex/objects/Jx/91/SHA256E-s5--00.jpg/SHA256E-s5--00.jpg"},
      {Kind::kHtmlPage, "<!DOCTYPE html>\n<html lang=en>"},
      {Kind::kHtmlPage, "\n\n <HTML><head><title>403</title>"},
      {Kind::kHtmlPage, "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC>"},
      {Kind::kHtmlPage, "<!-- made by a proxy -->\n<html>"},
      {Kind::kXmlError, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code>"},
      {Kind::kXmlError, "<Error><Code>NoSuchKey</Code>"},
      {Kind::kGzip, "\x1F\x8B\x08\0\0\0"s},
      {Kind::kZstd, "\x28\xB5\x2F\xFD\x04"},
      {Kind::kZstd, "\x50\x2A\x4D\x18\4\0\0\0abcd"s},
      {Kind::kXz, "\xFD\x37zXZ\0\0\4"s},
      {Kind::kBzip2, "BZh9\x31\x41\x59\x26\x53\x59\x00"s},
      {Kind::kLz4, "\x04\x22\x4D\x18\x64"},
      {Kind::kSnappy, "\xFF\x06\0\0sNaPpY\0"s},
      {Kind::kCompress, "\x1F\x9D\x90"},
      {Kind::kZlib, "\x78\x9C\x4B\x4C\x4A\x06\x00"s},
      {Kind::kLzip, "LZIP\x01\x0C"},
      {Kind::kZip, zip_of("a.txt")},
      {Kind::kZip, "PK\x05\x06" + std::string(18, '\0')},
      {Kind::kNpz, zip_of("arr_0.npy")},
      {Kind::kOfficeDocument, zip_of("[Content_Types].xml")},
      {Kind::kTorchFile, zip_of("model/data.pkl")},
      {Kind::kTar, at(257, "ustar\0" + std::string(249, '\0'), "name", '\0')},
      {Kind::kTar, at(257, "ustar  \0"s + std::string(247, '\0'), "name", '\0')},
      {Kind::kTar, old_tar()},
      {Kind::kSevenZip, "7z\xBC\xAF\x27\x1C\0\4"s},
      {Kind::kRar, "Rar!\x1A\x07\x01\0"s},
      {Kind::kParquet, "PAR1\x15\4"},
      {Kind::kEncryptedParquet, "PARE\x15\4"},
      {Kind::kArrowFile, "ARROW1\0\0\xFF\xFF\xFF\xFF"s},
      {Kind::kArrowStream, "\xFF\xFF\xFF\xFF"s + number(8, 4) + "schema  "},
      {Kind::kFeatherV1, "FEA1\0\0\0\0"s},
      {Kind::kOrc, "ORC\x11\0"s},
      {Kind::kAvro, "Obj\x01\4\x14"},
      {Kind::kHdf5, "\x89HDF\r\n\x1a\n\0"s},
      {Kind::kHdf5, at(512, "\x89HDF\r\n\x1a\n\0"s)},
      {Kind::kHdf5, "MATLAB 7.3 MAT-file, Platform: GLNXA64"},
      {Kind::kNetcdf, "CDF\x01\0\0\0\0"s},
      {Kind::kMatlab, "MATLAB 5.0 MAT-file, Platform: PCWIN"},
      {Kind::kNpy, "\x93NUMPY\x01\0v\0"s},
      {Kind::kIdx, "\0\0\x08\x03\0\0\x27\x10\0\0\0\x1C"s},
      {Kind::kTfrecord, number(0x6C, 8) + "\xF5\xDA\xB0\xD7\x0A"s},
      {Kind::kMxnetRecords, "\x0A\x23\xD7\xCE\x08\0\0\0"s},
      {Kind::kArrayRecord, "\x83\xAF\x70\xD1\x0D\x88\x4A\x3F\0\0"s},
      {Kind::kMds, number(2, 4) + number(24, 4) + number(28, 4) + number(30, 4) + "{\"version\": 2}"},
      {Kind::kLmdb, number(0, 8) + number(0x80000, 8) + "\xDE\xC0\xEF\xBE\1\0\0\0"s},
      {Kind::kSqlite, "SQLite format 3\0\x10"s},
      {Kind::kPickle, "\x80\x04\x95\x10\0\0\0"s},
      {Kind::kPickle, "\x80\x02}q\0(X"s},
      {Kind::kSafetensors, number(14, 8) + "{\"a\":{\"x\": 1}}"},
      {Kind::kGguf, "GGUF\3\0\0\0"s},
      {Kind::kNifti, at(344, "n+1\0"s, "\x5C\x01\0\0"s, '\0')},
      {Kind::kDicom, at(128, "DICM\2\0"s, "", '\0')},
      {Kind::kFits, "SIMPLE  =                    T"},
      {Kind::kPointCloud, "ply\nformat ascii 1.0\n"},
      {Kind::kJpeg, "\xFF\xD8\xFF\xE0"},
      {Kind::kPng, "\x89PNG\r\n\x1A\n\0\0"s},
      {Kind::kWebp, "RIFF\1\0\0\0WEBPVP8 "s},
      {Kind::kBmp, "BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"s},
      {Kind::kGif, "GIF89a\1\0"s},
      {Kind::kTiff, "II*\0\x08\0\0\0"s},
      {Kind::kTiff, "MM\0+\0\x08"s},
      {Kind::kPnm, "P6\n# made by hand\n2 2 255\n"},
      {Kind::kPnm, "P5 640 480 255\n"},
      {Kind::kAvif,
       "\0\0\0\x1C"
       "ftypavif"s},
      {Kind::kHeic,
       "\0\0\0\x1C"
       "ftypheic"s},
      {Kind::kHeic,
       "\0\0\0\x1C"
       "ftypmif1"s},
      {Kind::kJpegXl, "\0\0\0\x0CJXL \r\n\x87\n"s},
      {Kind::kJpegXl, "\xFF\x0A\xFA"},
      {Kind::kJpeg2000, "\0\0\0\x0CjP  \r\n\x87\n"s},
      {Kind::kPsd, "8BPS\0\1"s},
      {Kind::kIco, "\0\0\1\0\1\0"s},
      {Kind::kQoi, "qoif\0\0"s},
      {Kind::kDds, "DDS \x7C\0\0\0"s},
      {Kind::kOpenExr, "\x76\x2F\x31\x01\2"},
      {Kind::kRadiance, "#?RADIANCE\n"},
      {Kind::kSvg, "<?xml version=\"1.0\"?>\n<!-- x -->\n<svg width=\"1\">"},
      {Kind::kWav, "RIFF\1\0\0\0WAVEfmt "s},
      {Kind::kRf64, "RF64\xFF\xFF\xFF\xFFWAVEds64"s},
      {Kind::kW64, "riff" + std::string(20, '\x2E') + "wave"},
      {Kind::kFlac, "fLaC\0\0\0\x22"s},
      {Kind::kFlac, "ID3\4\0\0\0\0\0\5tags!fLaC\0"s},
      {Kind::kOggVorbis, at(28, "\x01vorbis", "OggS")},
      {Kind::kOggOpus, at(28, "OpusHead", "OggS")},
      {Kind::kOggFlac, at(28,
                          "\x7F"
                          "FLAC",
                          "OggS")},
      {Kind::kOggSpeex, at(28, "Speex   1.2", "OggS")},
      {Kind::kOgg, at(28, "fishead", "OggS")},
      {Kind::kMp3, "\xFF\xFB\x90\x64\0\0"s},
      {Kind::kMp3, "ID3\4\0\0\0\0\0\5tags!\xFF\xFB\x90\x64"s},
      {Kind::kMp3, "ID3\4\0\0\0\0\x20\0longer tag than what was read"s},
      {Kind::kAac, "\xFF\xF1\x50\x80\x2E\x7F\xFC"},
      {Kind::kSphere, "NIST_1A\n   1024\nsample_count -i 5\n"},
      {Kind::kAiff, "FORM\0\0\0\1AIFFCOMM"s},
      {Kind::kAu, ".snd\0\0\0\x18"s},
      {Kind::kCaf, "caff\0\1"s},
      {Kind::kAmr, "#!AMR-WB\n\x3C\x91"},
      {Kind::kMidi, "MThd\0\0\0\6"s},
      {Kind::kWavPack, "wvpk\x10"},
      {Kind::kMonkeysAudio, "MAC \x96"},
      {Kind::kAsf, "\x30\x26\xB2\x75\x8E"},
      {Kind::kMp4,
       "\0\0\0\x18"
       "ftypisom"s},
      {Kind::kQuickTime,
       "\0\0\0\x14"
       "ftypqt  "s},
      {Kind::kMatroska, "\x1A\x45\xDF\xA3\x9F"},
      {Kind::kAvi, "RIFF\1\0\0\0AVI LIST"s},
      {Kind::kFlv, "FLV\1\5"},
      {Kind::kMpegVideo, "\0\0\1\xBA\x44"s},
      {Kind::kPdf, "%PDF-1.7\n"},
      {Kind::kXml, "<?xml version=\"1.0\"?>\n<annotation>"},
      {Kind::kJson, "{\"text\": \"a\"}\n"},
      {Kind::kJson, "[\n  {\"a\": 1}]"},
      {Kind::kJson, "\xEF\xBB\xBF{}"},
      {Kind::kUtf8Text, "path,label\na.jpg,1\n"},
      {Kind::kUtf8Text, "BM is how this line of text begins\n"},
      {Kind::kUtf8Text, "ORCHID,1\n"},
      {Kind::kUtf8Text, "P1 is the first of seven\n"},
      {Kind::kUtf8Text, "xylophone"},
      {Kind::kUtf8Text, "MAC addresses of the house\n"},
      {Kind::kUtf8Text, "GIF89a is a format of pictures\n"},
      {Kind::kUtf8Text, "PAR1 Paris 1er\n"},
      {Kind::kUtf8Text, "größer"},
      {Kind::kUtf16Text, "\xFF\xFEh\0i\0"s},
      {Kind::kUtf16Text, "\xFE\xFF\0h\0i"s},
      {Kind::kUtf32Text, "\xFF\xFE\0\0h\0\0\0"s},
  };
  return kExamples;
}

TEST(Sniff, KnowsEveryKindByAnExample) {
  std::set<Kind> seen;
  for (const auto& [kind, content] : examples()) {
    EXPECT_EQ(kind_of(content), kind) << sniff(bytes_of(content)).name << ": " << content.substr(0, 40);
    seen.insert(kind);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(Kind::kUtf32Text) + 1) << "a kind has no example";
}

TEST(Sniff, NamesEveryKindForPeople) {
  for (const auto& [kind, content] : examples()) {
    const Sniffed found = sniff(bytes_of(content), content.size());
    EXPECT_FALSE(found.name.empty());
    const Status status = wrong_file("a Parquet file", bytes_of(content), content.size());
    EXPECT_TRUE(is_data_error(status.code()));
    EXPECT_TRUE(status.message().starts_with("expected a Parquet file, found ")) << status.message();
    EXPECT_NE(status.message().find(found.name), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(found.remedy), std::string::npos) << status.message();
  }
}

TEST(Sniff, DecidesByTheFirstBytesAlone) {
  for (const auto& [kind, content] : examples()) {
    if (kind == Kind::kZeros || kind == Kind::kEmpty || content.size() > kSniffBytes) continue;
    if (kind == Kind::kMp3 || kind == Kind::kFlac) continue;  // sniff() looks past their tags
    std::string longer = content;
    longer.resize(kSniffBytes, ' ');
    const Kind first = sniff(bytes_of(longer)).kind;
    longer.resize(100'000, '\xFE');
    EXPECT_EQ(sniff(bytes_of(longer)).kind, first) << content.substr(0, 40);
  }
}

TEST(Sniff, BearsEveryPrefixOfEveryExample) {
  for (const auto& [kind, content] : examples()) {
    for (size_t length = 0; length <= std::min<size_t>(content.size(), 600); ++length) {
      const std::string part = content.substr(0, length);
      // A separate allocation, so that a sanitizer reports a read past its end.
      const std::vector<uint8_t> own(part.begin(), part.end());
      EXPECT_FALSE(sniff(own).name.empty());
      EXPECT_FALSE(sniff(own, content.size()).name.empty());
    }
  }
}

TEST(Sniff, TakesNoPointerForOneThatIsLongerThanPointersAre) {
  // Text that mentions Git LFS is data.
  EXPECT_EQ(sniff(bytes_of(kLfs), 5000).kind, Kind::kUtf8Text);
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1\nand no object\n"), Kind::kUtf8Text);
  EXPECT_EQ(kind_of("see /annex/objects/ for more\n"), Kind::kUtf8Text);
  EXPECT_TRUE(check_no_pointer(bytes_of(kLfs), 5000).ok());
}

TEST(Sniff, CutsNoCharacterInTwo) {
  std::string text;
  while (text.size() < kSniffBytes + 16) text += "\xE2\x82\xAC";
  for (const std::string before : {"", "a", "ab"}) EXPECT_EQ(kind_of(before + text), Kind::kUtf8Text);
  text.insert(100, "\xFF");
  EXPECT_EQ(kind_of(text), Kind::kUnknown);
}

TEST(Sniff, SaysWhatIsFoundAndWhatToDo) {
  EXPECT_EQ(
      wrong_file("an .npy file", bytes_of(kLfs), kLfs.size()).to_string(),
      "NotFound: expected an .npy file, found a Git LFS pointer in place of the data; fetch the data with `git lfs "
      "pull`");
  EXPECT_EQ(wrong_file("a tar archive", bytes_of("\x1F\x8B\x08"), 3).to_string(),
            "Unsupported: expected a tar archive, found gzip-compressed data; unpack it first (`gunzip`)");
  EXPECT_EQ(wrong_file("an HDF5 file", bytes_of("hello"), 5).to_string(),
            "Corrupt: expected an HDF5 file, found text that begins with 'hello'");
  EXPECT_EQ(wrong_file("an HDF5 file", bytes_of("\xC0\xC1\x02"), 3).to_string(),
            "Corrupt: expected an HDF5 file, found bytes of no known format that begin with c0 c1 02");
  EXPECT_EQ(wrong_file("an HDF5 file", {}, 0).to_string(), "Corrupt: expected an HDF5 file, found an empty file");
  EXPECT_EQ(check_no_pointer(bytes_of(kLfs), kLfs.size()).code(), Code::kNotFound);
  EXPECT_TRUE(check_no_pointer(bytes_of("\x1F\x8B")).ok());
}

TEST(Sniff, TellsTextFromFilesThatCannotBeText) {
  for (const std::string& text : {"a,b\n"s, "<html><body>"s, "P1 0 1 1 0\n"s, "ply\nformat ascii 1.0\n"s,
                                  "<svg></svg>"s, "\xFF\xFEh\0"s, "caf\xE9 in Latin-1\n"s, ""s, "%PDF-"s})
    EXPECT_TRUE(check_text(bytes_of(text), text.size()).ok()) << text;
  for (const std::string& other : {kLfs, "\x1F\x8B\x08\0\0"s, "PAR1\x15\4"s, "\x89PNG\r\n\x1A\n\0"s,
                                   std::string(100, '\0'), "\xFF\xFE\0\0h\0\0\0"s, zip_of("a.txt")})
    EXPECT_FALSE(check_text(bytes_of(other), other.size()).ok()) << sniff(bytes_of(other)).name;
}

TEST(Sniff, FindsNothingInRandomBytes) {
  std::mt19937_64 random(7);
  int known = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> noise(64);
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
    known += sniff(noise).kind != Kind::kUnknown;
  }
  // MPEG frames have a signature of eleven bits; all other signatures have 16 or more.
  EXPECT_LT(known, 40);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::filesystem::path shared_files() {
  const char* shared = std::getenv("FOREBAY_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : FOREBAY_SOURCE_DIR "/../shared") / "data";
}

TEST(Sniff, KnowsRealFilesByWhatTheyAre) {
  const std::map<std::string, std::set<Kind>> kExpected = {
      {".jpg", {Kind::kJpeg}},          {".jpeg", {Kind::kJpeg}},     {".png", {Kind::kPng}},
      {".webp", {Kind::kWebp}},         {".tif", {Kind::kTiff}},      {".tiff", {Kind::kTiff}},
      {".gif", {Kind::kGif}},           {".bmp", {Kind::kBmp}},       {".wav", {Kind::kWav}},
      {".flac", {Kind::kFlac}},         {".mp3", {Kind::kMp3}},       {".ogg", {Kind::kOggVorbis}},
      {".npy", {Kind::kNpy}},           {".npz", {Kind::kNpz}},       {".h5", {Kind::kHdf5}},
      {".hdf5", {Kind::kHdf5}},         {".mdb", {Kind::kLmdb}},      {".mds", {Kind::kMds}},
      {".tfrecord", {Kind::kTfrecord}}, {".gz", {Kind::kGzip}},       {".tgz", {Kind::kGzip}},
      {".zst", {Kind::kZstd}},          {".jsonl", {Kind::kJson}},    {".csv", {Kind::kUtf8Text}},
      {".txt", {Kind::kUtf8Text}},      {".tar", {Kind::kTar}},       {".parquet", {Kind::kParquet}},
      {".ply", {Kind::kPointCloud}},    {".las", {Kind::kPointCloud}}};
  const std::filesystem::path root = shared_files();
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "SHARED DATA ABSENT: " << root;
  int looked_at = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    const auto expected = kExpected.find(entry.path().extension().string());
    if (!entry.is_regular_file() || path.find("/malformed/") != std::string::npos || expected == kExpected.end())
      continue;
    const std::string content = read_file(entry.path());
    EXPECT_TRUE(expected->second.contains(kind_of(content))) << path << " is " << sniff(bytes_of(content)).name;
    ++looked_at;
  }
  EXPECT_GT(looked_at, 1000);
}

TEST(Sniff, BearsDamagedFiles) {
  const std::filesystem::path root = shared_files() / "malformed";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "SHARED DATA ABSENT: " << root;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string content = read_file(entry.path());
    EXPECT_FALSE(sniff(bytes_of(content), content.size()).name.empty());
    EXPECT_TRUE(is_data_error(wrong_file("data", bytes_of(content)).code()));
  }
}

}  // namespace
}  // namespace forebay
