#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/failure.h"
#include "cli/verbs.h"
#include "store/scratch_folder.h"

namespace forebay::cli_test {

/// A console that records what is printed.
class TextConsole {
 public:
  TextConsole() : console_{std::tmpfile(), std::tmpfile()} {}
  ~TextConsole() {
    std::fclose(console_.out);
    std::fclose(console_.err);
  }
  TextConsole(const TextConsole&) = delete;
  TextConsole& operator=(const TextConsole&) = delete;

  const Console& get() const { return console_; }
  std::string out() const { return text_of(console_.out); }
  std::string err() const { return text_of(console_.err); }

 private:
  static std::string text_of(FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    return text;
  }
  Console console_;
};

/// Exit code and output of one run of the program.
struct Ended {
  int code = 0;
  std::string out, err;

  SortedJson json() const { return SortedJson::parse(out); }
};

inline Ended forebay(const Arguments& arguments) {
  const TextConsole console;
  const int code = run_program(arguments, console.get());
  return {code, console.out(), console.err()};
}

/// Returns a .npy file of int64 rows 0 to `rows` - 1.
inline std::string npy_of(int64_t rows) {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ",), }";
  header.resize(118, ' ');  // so that the values begin at a multiple of 64
  std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  file.back() = '\n';
  for (int64_t row = 0; row < rows; ++row) file.append(reinterpret_cast<const char*>(&row), sizeof row);
  return file;
}

/// A temporary folder with an array of `rows` numbers and a pipeline over it as JSON.
class ArrayPipeline {
 public:
  explicit ArrayPipeline(int64_t rows, const std::string& between = R"({"op": "shuffle"},)",
                         const std::string& batch = R"({"op": "batch", "n": 4})") {
    folder_.write("x.npy", npy_of(rows));
    folder_.write("p.json", R"({"forebay_pipeline": 1, "steps": [{"op": "arrays", "fields": {"x": ")" +
                                folder_.path("x.npy") + "\"}}, " + between + batch + "]}");
  }
  std::string path() const { return folder_.path("p.json"); }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

}  // namespace forebay::cli_test
