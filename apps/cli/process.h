// Prepares the process that the command runs in, whoever started it.
#pragma once

namespace submarine::apps {

// Call first, before any file is opened. Opens descriptors 0 to 2 if they are closed: otherwise the
// next file opened would become a standard stream, and messages would be written into it. Makes
// writing fail with an error that can be reported where by default a signal would end the program:
// beyond a file size limit and into a pipe that nobody reads.
void PrepareProcess();

}  // namespace submarine::apps
