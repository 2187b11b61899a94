"""The quick study of an IRB 140 that pictures of the gallery share; it runs once."""

import tempfile

import robotid_sim as rid

study = rid.run_study(rid.build_setup("irb140", rid.StudyConfig().quick()), tempfile.mkdtemp())
