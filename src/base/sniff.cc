#include "base/sniff.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"

namespace forebay {
namespace {

using namespace std::string_view_literals;
using Kind = FileKind;
using Family = FileFamily;
using Head = std::string_view;

struct Description {
  Kind kind;
  Family family;
  std::string_view name, remedy;
};

constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kFetchAgain =
    "a server sent it in place of the data: look at it, check the address and the access rights, and fetch the file "
    "again";
constexpr std::string_view kBrokenOff =
    "a download that was broken off leaves such files: fetch it again, or leave it out";
constexpr std::string_view kConvertTable = "convert it to Parquet or Arrow";
constexpr std::string_view kConvertPicture = "convert it to PNG, JPEG or WebP";
constexpr std::string_view kConvertSound = "convert it to FLAC or WAV (`ffmpeg -i IN OUT.flac`)";
constexpr std::string_view kTakeSound =
    "take its sound out (`ffmpeg -i IN OUT.flac`) or its frames (`ffmpeg -i IN %06d.png`)";
constexpr std::string_view kOwnReader = "read it by a data set of your own (`Dataset`), or convert it";
constexpr std::string_view kUtf8 = "write it as UTF-8 (`iconv -f UTF-16 -t UTF-8`)";

// One row per kind, in the order of the enumeration.
constexpr Description kDescriptions[] = {
    {Kind::kUnknown, Family::kUnknown, "bytes of no known format", ""},
    {Kind::kEmpty, Family::kNothing, "an empty file", ""},
    {Kind::kZeros, Family::kNothing, "zero bytes only", kBrokenOff},
    {Kind::kLfsPointer, Family::kReplacement, "a Git LFS pointer in place of the data",
     "fetch the data with `git lfs pull`"},
    {Kind::kAnnexPointer, Family::kReplacement, "a git-annex pointer in place of the data",
     "fetch the data with `git annex get`"},
    {Kind::kHtmlPage, Family::kReplacement, "an HTML page", kFetchAgain},
    {Kind::kXmlError, Family::kReplacement, "an error message of an object store (XML)", kFetchAgain},
    {Kind::kGzip, Family::kCompressed, "gzip-compressed data", "unpack it first (`gunzip`)"},
    {Kind::kZstd, Family::kCompressed, "zstd-compressed data", "unpack it first (`zstd -d`)"},
    {Kind::kXz, Family::kCompressed, "xz-compressed data", "unpack it first (`unxz`)"},
    {Kind::kBzip2, Family::kCompressed, "bzip2-compressed data", "unpack it first (`bunzip2`)"},
    {Kind::kLz4, Family::kCompressed, "lz4-compressed data", "unpack it first (`lz4 -d`)"},
    {Kind::kSnappy, Family::kCompressed, "snappy-compressed data", kUnpack},
    {Kind::kCompress, Family::kCompressed, "data compressed by `compress`", "unpack it first (`uncompress`)"},
    {Kind::kZlib, Family::kCompressed, "zlib-compressed data", kUnpack},
    {Kind::kLzip, Family::kCompressed, "lzip-compressed data", "unpack it first (`lzip -d`)"},
    {Kind::kZip, Family::kArchive, "a zip archive", "unpack it first (`unzip`)"},
    {Kind::kNpz, Family::kArchive, "an .npz archive of NumPy arrays",
     "store each array by itself (`numpy.save(name + '.npy', archive[name])`) and read them with `arrays`"},
    {Kind::kOfficeDocument, Family::kArchive, "an office document (zip)", "export it as text or CSV"},
    {Kind::kTorchFile, Family::kArchive, "a file of torch.save (zip)",
     "it may hold code and is not read: load it by yourself and store its tensors as .npy or Parquet"},
    {Kind::kTar, Family::kArchive, "a tar archive", "read it with `webdataset`, or unpack it"},
    {Kind::kSevenZip, Family::kArchive, "a 7z archive", "unpack it first (`7z x`)"},
    {Kind::kRar, Family::kArchive, "a rar archive", "unpack it first (`unrar x`)"},
    {Kind::kParquet, Family::kTable, "a Parquet file", "read it with `parquet`"},
    {Kind::kEncryptedParquet, Family::kTable, "an encrypted Parquet file", "store it without encryption"},
    {Kind::kArrowFile, Family::kTable, "an Arrow file", "read it with `arrow`"},
    {Kind::kArrowStream, Family::kTable, "an Arrow stream", "read it with `arrow`"},
    {Kind::kFeatherV1, Family::kTable, "a Feather file of version 1", kConvertTable},
    {Kind::kOrc, Family::kTable, "an ORC file", kConvertTable},
    {Kind::kAvro, Family::kTable, "an Avro file", kConvertTable},
    {Kind::kHdf5, Family::kTable, "an HDF5 file", "read it with `hdf5`"},
    {Kind::kNetcdf, Family::kTable, "a classic NetCDF file",
     "convert it to NetCDF 4 (`nccopy -k nc4`) and read it with `hdf5`"},
    {Kind::kMatlab, Family::kTable, "a MATLAB file of version 5",
     "save it with `-v7.3` and read it with `hdf5`, or convert it to .npy"},
    {Kind::kNpy, Family::kTable, "an .npy file", "read it with `arrays`"},
    {Kind::kIdx, Family::kTable, "an IDX file (the format of MNIST)", "convert it to .npy"},
    {Kind::kTfrecord, Family::kTable, "a TFRecord file", kOwnReader},
    {Kind::kMxnetRecords, Family::kTable, "an MXNet RecordIO file", kOwnReader},
    {Kind::kArrayRecord, Family::kTable, "an ArrayRecord file", kOwnReader},
    {Kind::kMds, Family::kTable, "an MDS shard", kOwnReader},
    {Kind::kLmdb, Family::kTable, "an LMDB database", kOwnReader},
    {Kind::kSqlite, Family::kTable, "an SQLite database", kOwnReader},
    {Kind::kPickle, Family::kTable, "a pickle",
     "it may hold code and is not read: load it by yourself and store its arrays as .npy or Parquet"},
    {Kind::kSafetensors, Family::kTable, "a safetensors file", "store its tensors as .npy"},
    {Kind::kGguf, Family::kTable, "a GGUF file", ""},
    {Kind::kNifti, Family::kTable, "a NIfTI volume", "convert it to .npy"},
    {Kind::kDicom, Family::kTable, "a DICOM file", "convert it to PNG or .npy"},
    {Kind::kFits, Family::kTable, "a FITS file", "convert it to .npy"},
    {Kind::kPointCloud, Family::kTable, "a point cloud (PLY, PCD or LAS)", "convert it to .npy"},
    {Kind::kJpeg, Family::kPicture, "a JPEG image", ""},
    {Kind::kPng, Family::kPicture, "a PNG image", ""},
    {Kind::kWebp, Family::kPicture, "a WebP image", ""},
    {Kind::kBmp, Family::kPicture, "a BMP image", ""},
    {Kind::kGif, Family::kPicture, "a GIF image", kConvertPicture},
    {Kind::kTiff, Family::kPicture, "a TIFF image", kConvertPicture},
    {Kind::kPnm, Family::kPicture, "a PNM image (PBM, PGM, PPM, PAM or PFM)", kConvertPicture},
    {Kind::kAvif, Family::kPicture, "an AVIF image", kConvertPicture},
    {Kind::kHeic, Family::kPicture, "a HEIC image", kConvertPicture},
    {Kind::kJpegXl, Family::kPicture, "a JPEG XL image", kConvertPicture},
    {Kind::kJpeg2000, Family::kPicture, "a JPEG 2000 image", kConvertPicture},
    {Kind::kPsd, Family::kPicture, "a PSD image", kConvertPicture},
    {Kind::kIco, Family::kPicture, "an ICO image", kConvertPicture},
    {Kind::kQoi, Family::kPicture, "a QOI image", kConvertPicture},
    {Kind::kDds, Family::kPicture, "a DDS image", kConvertPicture},
    {Kind::kOpenExr, Family::kPicture, "an OpenEXR image", kConvertPicture},
    {Kind::kRadiance, Family::kPicture, "a Radiance HDR image", kConvertPicture},
    {Kind::kSvg, Family::kPicture, "an SVG drawing", kConvertPicture},
    {Kind::kWav, Family::kSound, "a WAV file", "read it with `decode_audio`"},
    {Kind::kRf64, Family::kSound, "an RF64 file", "read it with `decode_audio`"},
    {Kind::kW64, Family::kSound, "a W64 file", "read it with `decode_audio`"},
    {Kind::kFlac, Family::kSound, "a FLAC file", "read it with `decode_audio`"},
    {Kind::kOggVorbis, Family::kSound, "an Ogg Vorbis file", "read it with `decode_audio`"},
    {Kind::kOggOpus, Family::kSound, "an Ogg Opus file", "read it with `decode_audio`"},
    {Kind::kOggFlac, Family::kSound, "an Ogg FLAC file", "read it with `decode_audio`"},
    {Kind::kOggSpeex, Family::kSound, "an Ogg Speex file", kConvertSound},
    {Kind::kOgg, Family::kSound, "an Ogg file", ""},
    {Kind::kMp3, Family::kSound, "an MP3 file", "read it with `decode_audio`"},
    {Kind::kAac, Family::kSound, "an AAC file", kConvertSound},
    {Kind::kSphere, Family::kSound, "a NIST SPHERE file", "convert it to WAV (`sph2pipe -f wav`, or `sox IN OUT.wav`)"},
    {Kind::kAiff, Family::kSound, "an AIFF file", "read it with `decode_audio`"},
    {Kind::kAu, Family::kSound, "an AU file", "read it with `decode_audio`"},
    {Kind::kCaf, Family::kSound, "a CAF file", "read it with `decode_audio`"},
    {Kind::kAmr, Family::kSound, "an AMR file", kConvertSound},
    {Kind::kMidi, Family::kSound, "a MIDI file", ""},
    {Kind::kWavPack, Family::kSound, "a WavPack file", kConvertSound},
    {Kind::kMonkeysAudio, Family::kSound, "a Monkey's Audio file", kConvertSound},
    {Kind::kAsf, Family::kSound, "a WMA or WMV file", kConvertSound},
    {Kind::kMp4, Family::kFilm, "an MP4 file", kTakeSound},
    {Kind::kQuickTime, Family::kFilm, "a QuickTime file", kTakeSound},
    {Kind::kMatroska, Family::kFilm, "a Matroska or WebM file", kTakeSound},
    {Kind::kAvi, Family::kFilm, "an AVI file", kTakeSound},
    {Kind::kFlv, Family::kFilm, "an FLV file", kTakeSound},
    {Kind::kMpegVideo, Family::kFilm, "an MPEG film", kTakeSound},
    {Kind::kPdf, Family::kText, "a PDF document", "take its text out (`pdftotext`)"},
    {Kind::kXml, Family::kText, "an XML document", ""},
    {Kind::kJson, Family::kText, "JSON text", "read it with `jsonl`"},
    {Kind::kUtf8Text, Family::kText, "text", ""},
    {Kind::kUtf16Text, Family::kText, "text in UTF-16", kUtf8},
    {Kind::kUtf32Text, Family::kText, "text in UTF-32", "write it as UTF-8 (`iconv -f UTF-32 -t UTF-8`)"},
};
static_assert([] {
  for (size_t i = 0; i < std::size(kDescriptions); ++i) {
    if (static_cast<size_t>(kDescriptions[i].kind) != i) return false;
  }
  return std::size(kDescriptions) == static_cast<size_t>(Kind::kUtf32Text) + 1;
}());

/// A kind that is determined by fixed bytes at fixed places.
struct Signature {
  Kind kind;
  std::string_view bytes;
  size_t at = 0;
  std::string_view also = {};
  size_t also_at = 0;
};

// The first match decides, so more specific signatures come first.
constexpr Signature kSignatures[] = {
    {Kind::kJpeg, "\xFF\xD8\xFF"sv},
    {Kind::kPng, "\x89PNG\r\n\x1A\n"sv},
    {Kind::kWebp, "RIFF"sv, 0, "WEBP"sv, 8},
    {Kind::kGif, "GIF87a"sv},
    {Kind::kGif, "GIF89a"sv},
    {Kind::kTiff, "II*\0"sv},
    {Kind::kTiff, "MM\0*"sv},
    {Kind::kTiff, "II+\0"sv},
    {Kind::kTiff, "MM\0+"sv},
    {Kind::kJpegXl, "\0\0\0\x0CJXL \r\n\x87\n"sv},
    {Kind::kJpegXl, "\xFF\x0A"sv},
    {Kind::kJpeg2000, "\0\0\0\x0CjP  \r\n\x87\n"sv},
    {Kind::kJpeg2000, "\xFF\x4F\xFF\x51"sv},
    {Kind::kPsd, "8BPS\0"sv},
    {Kind::kIco, "\0\0\1\0"sv},
    {Kind::kQoi, "qoif"sv},
    {Kind::kDds, "DDS "sv},
    {Kind::kOpenExr, "\x76\x2F\x31\x01"sv},
    {Kind::kRadiance, "#?RADIANCE"sv},
    {Kind::kRadiance, "#?RGBE"sv},
    {Kind::kGzip, "\x1F\x8B"sv},
    {Kind::kZstd, "\x28\xB5\x2F\xFD"sv},
    {Kind::kXz, "\xFD\x37zXZ\0"sv},
    {Kind::kLz4, "\x04\x22\x4D\x18"sv},
    {Kind::kSnappy, "\xFF\x06\0\0sNaPpY"sv},
    {Kind::kCompress, "\x1F\x9D"sv},
    {Kind::kLzip, "LZIP\x01"sv},
    {Kind::kSevenZip, "7z\xBC\xAF\x27\x1C"sv},
    {Kind::kRar, "Rar!\x1A\x07"sv},
    {Kind::kParquet, "PAR1"sv},
    {Kind::kEncryptedParquet, "PARE"sv},
    {Kind::kArrowFile, "ARROW1"sv},
    {Kind::kFeatherV1, "FEA1"sv},
    {Kind::kAvro, "Obj\x01"sv},
    {Kind::kHdf5, "\x89HDF\r\n\x1A\n"sv},
    // HDF5 may begin after a user block, as in files of MATLAB 7.3.
    {Kind::kHdf5, "\x89HDF\r\n\x1A\n"sv, 512},
    {Kind::kHdf5, "MATLAB 7.3 MAT-file"sv},
    {Kind::kNetcdf, "CDF\x01"sv},
    {Kind::kNetcdf, "CDF\x02"sv},
    {Kind::kNetcdf, "CDF\x05"sv},
    {Kind::kMatlab, "MATLAB 5.0 MAT-file"sv},
    {Kind::kNpy, "\x93NUMPY"sv},
    {Kind::kMxnetRecords, "\x0A\x23\xD7\xCE"sv},
    {Kind::kArrayRecord, "\x83\xAF\x70\xD1\x0D\x88\x4A\x3F"sv},
    {Kind::kLmdb, "\xDE\xC0\xEF\xBE"sv, 16},
    {Kind::kLmdb, "\xDE\xC0\xEF\xBE"sv},
    {Kind::kSqlite, "SQLite format 3\0"sv},
    {Kind::kGguf, "GGUF"sv},
    {Kind::kNifti, "\x5C\x01\0\0"sv, 0, "n+1\0"sv, 344},
    {Kind::kNifti, "\0\0\x01\x5C"sv, 0, "n+1\0"sv, 344},
    {Kind::kDicom, "DICM"sv, 128},
    {Kind::kFits, "SIMPLE  ="sv},
    {Kind::kPointCloud, "ply\n"sv},
    {Kind::kPointCloud, "ply\r\n"sv},
    {Kind::kPointCloud, "# .PCD"sv},
    {Kind::kPointCloud, "LASF"sv},
    {Kind::kWav, "RIFF"sv, 0, "WAVE"sv, 8},
    {Kind::kWav, "RIFX"sv, 0, "WAVE"sv, 8},
    {Kind::kAvi, "RIFF"sv, 0, "AVI "sv, 8},
    {Kind::kRf64, "RF64"sv, 0, "WAVE"sv, 8},
    {Kind::kRf64, "BW64"sv, 0, "WAVE"sv, 8},
    {Kind::kW64, "riff"sv, 0, "wave"sv, 24},
    {Kind::kOggVorbis, "OggS"sv, 0, "\x01vorbis"sv, 28},
    {Kind::kOggOpus, "OggS"sv, 0, "OpusHead"sv, 28},
    {Kind::kOggFlac, "OggS"sv, 0,
     "\x7F"
     "FLAC"sv,
     28},
    {Kind::kOggSpeex, "OggS"sv, 0, "Speex   "sv, 28},
    {Kind::kOgg, "OggS"sv},
    {Kind::kSphere, "NIST_1A\n"sv},
    {Kind::kAiff, "FORM"sv, 0, "AIFF"sv, 8},
    {Kind::kAiff, "FORM"sv, 0, "AIFC"sv, 8},
    {Kind::kAu, ".snd"sv},
    {Kind::kCaf, "caff"sv},
    {Kind::kAmr, "#!AMR"sv},
    {Kind::kMidi, "MThd"sv},
    {Kind::kWavPack, "wvpk"sv},
    {Kind::kMonkeysAudio, "MAC "sv},
    {Kind::kAsf, "\x30\x26\xB2\x75"sv},
    {Kind::kMatroska, "\x1A\x45\xDF\xA3"sv},
    {Kind::kFlv, "FLV\x01"sv},
    {Kind::kMpegVideo, "\0\0\1\xBA"sv},
    {Kind::kMpegVideo, "\0\0\1\xB3"sv},
    {Kind::kPdf, "%PDF-1."sv},
    {Kind::kPdf, "%PDF-2."sv},
    // Brands of the box with which MP4 and related formats begin.
    {Kind::kAvif, "ftypavi"sv, 4},
    {Kind::kHeic, "ftyphe"sv, 4},
    {Kind::kHeic, "ftypmif1"sv, 4},
    {Kind::kHeic, "ftypmsf1"sv, 4},
    {Kind::kQuickTime, "ftypqt  "sv, 4},
    {Kind::kMp4, "ftyp"sv, 4},
    {Kind::kQuickTime, "moov"sv, 4},
    {Kind::kQuickTime, "mdat"sv, 4},
};

Head as_text(std::span<const uint8_t> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool has_at(Head head, size_t at, std::string_view bytes) {
  return head.size() >= at && head.substr(at).starts_with(bytes);
}

uint8_t byte_at(Head head, size_t i) { return static_cast<uint8_t>(head[i]); }

uint64_t little_endian(Head head, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | byte_at(head, at + i);
  return value;
}

/// CRC-32C of eight bytes, masked as TFRecord masks it.
uint32_t masked_crc(Head bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82F63B78u & (0u - (crc & 1)));
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

using FileBytes = std::optional<uint64_t>;

bool is_tfrecord(Head head, FileBytes) {
  return head.size() >= 12 && little_endian(head, 8, 4) == masked_crc(head.substr(0, 8));
}

bool is_bzip2(Head head, FileBytes) {
  return head.size() >= 10 && head.starts_with("BZh") && head[3] >= '1' && head[3] <= '9' &&
         (has_at(head, 4, "\x31\x41\x59\x26\x53\x59") || has_at(head, 4, "\x17\x72\x45\x38\x50\x90"));
}

// A skippable frame. Files of multi-threaded pzstd begin with one.
bool is_skippable_zstd(Head head, FileBytes) {
  return has_at(head, 1, "\x2A\x4D\x18") && byte_at(head, 0) >= 0x50 && byte_at(head, 0) <= 0x5F;
}

bool is_zlib(Head head, FileBytes) {
  return head.size() >= 6 && head[0] == 'x' &&
         (byte_at(head, 1) == 0x01 || byte_at(head, 1) == 0x9C || byte_at(head, 1) == 0xDA);
}

bool is_ustar(Head head, FileBytes) { return has_at(head, 257, "ustar"); }

// A tar older than "ustar" has only a checksum: the sum of the header's bytes, with the bytes of
// the checksum itself counted as blanks.
bool is_old_tar(Head head, FileBytes) {
  if (head.size() < 512 || head[0] == '\0') return false;
  uint64_t sum = 0, said = 0;
  int digits = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : byte_at(head, i);
  for (size_t i = 148; i < 156; ++i) {
    if (head[i] < '0' || head[i] > '7') continue;
    said = said * 8 + static_cast<uint64_t>(head[i] - '0');
    ++digits;
  }
  return digits >= 3 && said == sum;
}

bool is_zip(Head head, FileBytes) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06") || head.starts_with("PK\x07\x08");
}

/// Determines the kind of a zip archive from the name of its first member.
Kind kind_of_zip(Head head) {
  if (head.size() < 30) return Kind::kZip;
  const Head name = head.substr(30, little_endian(head, 26, 2));
  if (name.ends_with(".npy")) return Kind::kNpz;
  if (name.ends_with("/data.pkl") || name == "data.pkl" || name.ends_with("/.format_version")) return Kind::kTorchFile;
  if (name == "[Content_Types].xml" || name.starts_with("word/") || name.starts_with("xl/") || name == "_rels/.rels")
    return Kind::kOfficeDocument;
  return name == "mimetype" && head.find("opendocument") != Head::npos ? Kind::kOfficeDocument : Kind::kZip;
}

bool is_orc(Head head, FileBytes) {
  // "ORC" is followed by a protocol buffer, whose first byte is never a letter.
  return head.size() > 3 && head.starts_with("ORC") && (byte_at(head, 3) < ' ' || byte_at(head, 3) >= 0x7F);
}

bool is_bmp(Head head, FileBytes) {
  if (!head.starts_with("BM")) return false;
  if (head.size() < 18) return true;
  const uint64_t header = little_endian(head, 14, 4);
  // Texts may begin with these letters, too.
  return header < 256 || !is_utf8(head.substr(0, 14));
}

bool is_arrow_stream(Head head, FileBytes bytes) {
  if (head.size() < 8 || !head.starts_with("\xFF\xFF\xFF\xFF")) return false;
  const uint64_t length = little_endian(head, 4, 4);
  return length < 1u << 31 && length % 8 == 0 && (!bytes || length <= *bytes);
}

bool is_safetensors(Head head, FileBytes bytes) {
  if (head.size() < 10) return false;
  const uint64_t length = little_endian(head, 0, 8);
  return length >= 2 && length < 100'000'000 && (!bytes || length <= *bytes) && head[8] == '{' &&
         (head[9] == '"' || head[9] == '}');
}

// Two zeros, the type of a value, and the number of axes; then the length of each axis, most
// significant byte first.
bool is_idx(Head head, FileBytes) {
  return head.size() >= 8 && head.starts_with("\0\0"sv) && head[2] >= 8 && head[2] <= 14 && head[2] != 10 &&
         head[3] >= 1 && head[3] <= 4 && (head[2] != 12 || head[4] == '\0');
}

// The number of samples n; then n + 1 ascending offsets; then the names of the columns as JSON.
bool is_mds(Head head, FileBytes bytes) {
  if (head.size() < 16) return false;
  const uint64_t samples = little_endian(head, 0, 4), first = little_endian(head, 4, 4);
  const uint64_t index_bytes = 4 * (samples + 2);
  if (samples == 0 || first <= index_bytes || first - index_bytes > 1 << 16) return false;
  uint64_t last = first;
  for (size_t at = 8; at + 4 <= std::min<size_t>(head.size(), index_bytes); at += 4) {
    const uint64_t next = little_endian(head, at, 4);
    if (next < last || (bytes && next > *bytes)) return false;
    last = next;
  }
  return index_bytes >= head.size() || head[index_bytes] == '{';
}

bool is_pickle(Head head, FileBytes) {
  if (head.size() < 4 || byte_at(head, 0) != 0x80 || head[1] < 2 || head[1] > 5) return false;
  if (head[1] >= 4) return byte_at(head, 2) == 0x95;
  return "]}(cX\x8a\x8c)NKJM\x88\x89qU"sv.find(head[2]) != Head::npos;
}

bool is_pnm(Head head, FileBytes) {
  if (head.size() < 4 || head[0] != 'P') return false;
  if (head.starts_with("P7\nWIDTH") || head.starts_with("P7\n#")) return true;
  const bool kind = (head[1] >= '1' && head[1] <= '6') || head[1] == 'F' || head[1] == 'f';
  const bool space = head[2] == '\n' || head[2] == ' ' || head[2] == '\t' || head[2] == '\r';
  const size_t next = head.find_first_not_of("\n \t\r", 2);
  return kind && space && next != Head::npos && (head[next] == '#' || (head[next] >= '0' && head[next] <= '9'));
}

// ADTS: like an MPEG frame, with a layer number that MPEG audio does not use.
bool is_aac(Head head, FileBytes) {
  return head.size() >= 7 && byte_at(head, 0) == 0xFF && (byte_at(head, 1) & 0xF6) == 0xF0 &&
         (byte_at(head, 2) >> 2 & 15) < 13;
}

// A frame of layer I, II or III of MPEG 1, 2 or 2.5, with a valid bit rate and sampling rate.
bool is_mpeg_frame(Head head, FileBytes) {
  if (head.size() < 4 || byte_at(head, 0) != 0xFF || (byte_at(head, 1) & 0xE0) != 0xE0) return false;
  const int version = byte_at(head, 1) >> 3 & 3, layer = byte_at(head, 1) >> 1 & 3;
  return version != 1 && layer != 0 && byte_at(head, 2) >> 4 != 15 && (byte_at(head, 2) >> 2 & 3) != 3;
}

/// Kinds that need more than fixed bytes, in the order in which they are tried.
struct Test {
  Kind kind;
  bool (*fits)(Head, FileBytes);
};
constexpr Test kTests[] = {
    {Kind::kBzip2, is_bzip2},   {Kind::kZstd, is_skippable_zstd},
    {Kind::kTar, is_ustar},     {Kind::kTfrecord, is_tfrecord},
    {Kind::kOrc, is_orc},       {Kind::kBmp, is_bmp},
    {Kind::kPnm, is_pnm},       {Kind::kArrowStream, is_arrow_stream},
    {Kind::kAac, is_aac},       {Kind::kMp3, is_mpeg_frame},
    {Kind::kPickle, is_pickle}, {Kind::kSafetensors, is_safetensors},
    {Kind::kIdx, is_idx},       {Kind::kMds, is_mds},
    {Kind::kTar, is_old_tar},   {Kind::kZlib, is_zlib},
};

bool is_lfs_pointer(Head head, FileBytes bytes) {
  // The specification of Git LFS allows 1,024 bytes.
  return bytes.value_or(head.size()) <= 1024 &&
         (head.starts_with("version https://git-lfs.github.com/spec/") ||
          head.starts_with("version https://hawser.github.com/spec/")) &&
         head.find("\noid sha256:") != Head::npos;
}

/// A file that contains the path of its content. git-annex writes such files for unlocked files and
/// on file systems without links.
bool is_annex_pointer(Head head, FileBytes bytes) {
  if (bytes.value_or(head.size()) > 32768) return false;
  while (head.starts_with("../")) head.remove_prefix(3);
  return head.starts_with("/annex/objects/") || head.starts_with(".git/annex/objects/");
}

Head without_space(Head text) { return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())); }

bool begins_as(Head text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
         });
}

Kind kind_of_markup(Head text) {
  if (begins_as(text, "<!doctype html") || begins_as(text, "<html") || begins_as(text, "<head")) return Kind::kHtmlPage;
  if (begins_as(text, "<svg") || begins_as(text, "<!doctype svg")) return Kind::kSvg;
  if (text.starts_with("<Error>")) return Kind::kXmlError;
  if (!text.starts_with("<?xml") && !text.starts_with("<!--")) return Kind::kUnknown;
  const size_t end = text.find(text.starts_with("<?xml") ? "?>"sv : "-->"sv);
  if (end == Head::npos) return text.starts_with("<?xml") ? Kind::kXml : Kind::kUnknown;
  const Kind inner = kind_of_markup(without_space(text.substr(end + (text.starts_with("<?xml") ? 2 : 3))));
  return inner == Kind::kUnknown && text.starts_with("<?xml") ? Kind::kXml : inner;
}

bool is_json(Head text) {
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  const Head next = without_space(text.substr(1));
  if (next.empty()) return true;
  return text[0] == '{' ? next[0] == '"' || next[0] == '}' : "{[\"-0123456789tfnNI]"sv.find(next[0]) != Head::npos;
}

/// Whether the text is UTF-8, up to a character that its end may cut off, and has no control
/// characters except those of lines and pages.
bool is_text(Head text) {
  const auto control = [](unsigned char c) {
    return (c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1B') || c == 0x7F;
  };
  if (text.empty() || std::ranges::any_of(text, control)) return false;
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const std::optional<size_t> bad = first_not_utf8(bytes);
  return !bad || (text.size() - *bad < 4 && *bad > 0 && byte_at(text, *bad) >= 0xC2);
}

/// Whether the signature is a few printable characters. Such a signature counts only in front of
/// bytes that are not text: "MAC addresses" is not a sound.
bool is_weak(const Signature& one) {
  return one.also.empty() && one.bytes.size() < 8 &&
         std::ranges::all_of(
             one.bytes,
             [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ' ||
                      c == '.';
             });
}

Kind by_signature(Head head) {
  for (const Signature& one : kSignatures) {
    if (!has_at(head, one.at, one.bytes) || !has_at(head, one.also_at, one.also)) continue;
    if (!is_weak(one) || head.size() == one.at + one.bytes.size() || !is_text(head)) return one.kind;
  }
  return Kind::kUnknown;
}

Kind kind_of_text(Head head, FileBytes bytes) {
  if (head.starts_with("\xFF\xFE\0\0"sv) || head.starts_with("\0\0\xFE\xFF"sv)) return Kind::kUtf32Text;
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return Kind::kUtf16Text;
  const bool marked = head.starts_with("\xEF\xBB\xBF");
  if (marked) head.remove_prefix(3);
  if (is_lfs_pointer(head, bytes)) return Kind::kLfsPointer;
  if (is_annex_pointer(head, bytes)) return Kind::kAnnexPointer;
  const Head text = without_space(head);
  if (const Kind markup = kind_of_markup(text); markup != Kind::kUnknown) return markup;
  if (!is_text(head)) return marked ? Kind::kUtf8Text : Kind::kUnknown;
  return is_json(text) ? Kind::kJson : Kind::kUtf8Text;
}

Kind kind_of(Head head, FileBytes bytes) {
  if (const Kind kind = by_signature(head); kind != Kind::kUnknown) return kind;
  if (is_zip(head, bytes)) return kind_of_zip(head);
  // Before MPEG frames: the byte order mark of UTF-16 begins with the same bits.
  if (const Kind kind = kind_of_text(head, bytes); kind != Kind::kUnknown && kind != Kind::kUtf8Text) return kind;
  for (const Test& test : kTests) {
    if (test.fits(head, bytes)) return test.kind;
  }
  return kind_of_text(head, bytes);
}

Kind kind_of_whole(std::span<const uint8_t> file, FileBytes bytes) {
  const Head all = as_text(file);
  if (all.empty() || bytes == 0) return Kind::kEmpty;
  const Head head = all.substr(0, kSniffBytes);
  if (head.find_first_not_of('\0') == Head::npos) return Kind::kZeros;
  if (const size_t tag = id3_bytes(file); tag > 0) {
    return all.substr(tag).starts_with("fLaC") ? Kind::kFlac : Kind::kMp3;
  }
  if (head.starts_with("fLaC")) return Kind::kFlac;
  return kind_of(head, bytes);
}

/// The first bytes for people: quoted if they are printable, otherwise in hexadecimal.
std::string shown(Head head) {
  const Head first = head.substr(0, 16);
  const bool printable = std::ranges::all_of(first, [](char c) { return c >= ' ' && c < 0x7F; });
  if (printable) return fmt::format("'{}'", first);
  std::string digits;
  for (const char byte : first.substr(0, 8)) digits += fmt::format(" {:02x}", static_cast<uint8_t>(byte));
  return digits.substr(1);
}

Code code_of(const Sniffed& found) {
  if (found.kind == Kind::kLfsPointer || found.kind == Kind::kAnnexPointer) return Code::kNotFound;
  const bool broken = found.family == Family::kUnknown || found.family == Family::kNothing ||
                      found.family == Family::kReplacement || found.kind == Kind::kUtf8Text;
  return broken ? Code::kCorrupt : Code::kUnsupported;
}

}  // namespace

size_t id3_bytes(std::span<const uint8_t> bytes) {
  const Head head = as_text(bytes);
  if (bytes.size() < 10 || !head.starts_with("ID3")) return 0;
  size_t size = 0;
  // ID3v2.4, section 3.1: seven bits a byte, so that a size never looks like a frame. Flag 0x10
  // means a footer of ten more bytes.
  for (size_t i = 6; i < 10; ++i) size = size << 7 | (bytes[i] & 0x7Fu);
  return std::min(bytes.size(), size + ((bytes[5] & 0x10) != 0 ? 20u : 10u));
}

Sniffed sniff(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes) {
  const Description& row = kDescriptions[static_cast<size_t>(kind_of_whole(head, file_bytes))];
  return {row.kind, row.family, row.name, row.remedy};
}

std::string found_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes) {
  const Sniffed found = sniff(head, file_bytes);
  if (found.kind == Kind::kUnknown || found.kind == Kind::kUtf8Text)
    return fmt::format("found {} that begin{} with {}", found.name, found.kind == Kind::kUtf8Text ? "s" : "",
                       shown(as_text(head)));
  return found.remedy.empty() ? fmt::format("found {}", found.name)
                              : fmt::format("found {}; {}", found.name, found.remedy);
}

Status wrong_file(std::string_view expected, std::span<const uint8_t> head, std::optional<uint64_t> file_bytes) {
  return {code_of(sniff(head, file_bytes)), fmt::format("expected {}, {}", expected, found_text(head, file_bytes))};
}

Status check_text(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes) {
  const Sniffed found = sniff(head, file_bytes);
  FOREBAY_RETURN_IF_ERROR(check_no_pointer(head, file_bytes));
  // Markup counts as text whatever bytes it contains; the decoder reports damaged pages.
  const bool is_markup = found.kind == Kind::kSvg || found.kind == Kind::kXml || found.kind == Kind::kHtmlPage;
  const bool may_be_text = found.family == Family::kUnknown || found.kind == Kind::kEmpty || is_markup ||
                           found.kind == Kind::kUtf16Text || is_text(as_text(head).substr(0, kSniffBytes));
  return may_be_text || found.kind == Kind::kUtf8Text ? Status() : wrong_file("text", head, file_bytes);
}

Status check_no_pointer(std::span<const uint8_t> head, std::optional<uint64_t> file_bytes) {
  const Sniffed found = sniff(head, file_bytes);
  if (found.kind != Kind::kLfsPointer && found.kind != Kind::kAnnexPointer) return {};
  return wrong_file("data", head, file_bytes);
}

}  // namespace forebay
