#include "cli/verbs.h"

int main(int argc, char** argv) { return forebay::run_program({argv + 1, argv + argc}, forebay::Console{}); }
