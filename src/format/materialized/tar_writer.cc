#include "format/materialized/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kTarBlock = 512, kMaxInName = 100;
constexpr uint64_t kMaxInMember = (uint64_t{1} << 33) - 1;  // limit of eleven octal digits

/// The header layout of POSIX.
struct TarHeader {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2];
  char user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
static_assert(sizeof(TarHeader) == kTarBlock);

template <size_t N>
void put_octal(char (&field)[N], uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, N - 1);
  std::memcpy(field, digits.data(), N - 1);
}

bool stays_in_folder(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos || name.find('\n') != name.npos) return false;
  return (std::string("/") + std::string(name) + "/").find("/../") == std::string::npos;
}

// "27 path=…\n", where the number includes its own length.
std::string pax_record(std::string_view name) {
  const std::string rest = fmt::format(" path={}\n", name);
  size_t length = rest.size() + 1;
  // Terminates, because the length grows by one per digit and then stays.
  while (std::to_string(length).size() + rest.size() != length) length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}

std::span<const uint8_t> bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void TarWriter::add_header(std::string_view name, uint64_t size, char type) {
  TarHeader header{};
  std::memcpy(header.name, name.data(), std::min(name.size(), kMaxInName));
  put_octal(header.mode, 0644);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_octal(header.size, size);
  put_octal(header.mtime, 0);
  // POSIX: the checksum is computed with blanks in its own field.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  header.type = type;
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  std::array<uint8_t, kTarBlock> block;
  std::memcpy(block.data(), &header, kTarBlock);
  uint64_t sum = 0;
  for (const uint8_t byte : block) sum += byte;
  const std::string digits = fmt::format("{:06o}", sum);
  // Six digits and a zero; the blank after them stays, as in other tar programs.
  std::memcpy(block.data() + offsetof(TarHeader, checksum), digits.c_str(), 7);
  bytes_.insert(bytes_.end(), block.begin(), block.end());
}

void TarWriter::add_padded(std::span<const uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize((bytes_.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
}

Result<ByteRange> TarWriter::add(std::string_view name, std::span<const uint8_t> bytes) {
  if (!stays_in_folder(name)) return invalid_argument(fmt::format("'{}' is no name for a file in a tar archive", name));
  if (bytes.size() > kMaxInMember)
    return invalid_argument(fmt::format("'{}' has more than 8 GiB, which a tar archive cannot hold", name));
  if (name.size() > kMaxInName) {
    const std::string record = pax_record(name);
    add_header("PaxHeader", record.size(), 'x');
    add_padded(bytes_of_text(record));
  }
  add_header(name, bytes.size(), '0');
  const ByteRange range{bytes_.size(), bytes.size()};
  add_padded(bytes);
  return range;
}

Buffer TarWriter::take() {
  // Two zero blocks end an archive.
  bytes_.resize(bytes_.size() + 2 * kTarBlock);
  Buffer all = Buffer::allocate(bytes_.size());
  std::memcpy(all.data(), bytes_.data(), bytes_.size());
  bytes_.clear();
  return all;
}

}  // namespace forebay
